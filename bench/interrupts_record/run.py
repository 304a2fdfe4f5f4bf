"""What does recording interrupts cost?

A client sends datagrams over a pair of virtual devices as fast as it can. Nearly each makes the server's device poll,
while `bayop-interrupts-record --cost` records those polls. Writes summary.json. Needs root.

Example:
  make probe && python -m bench.interrupts_record.run --duration 60 --out bench/interrupts_record/results
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from bench.results import tell_summary

from bayop.experiments.rig.veth import SERVER_ADDRESS, VethPair
from bayop.interrupts.capture import recorded, recorder_place
from bayop.interrupts.record import record

MOST_BYTES: Final = 10**10
_SENDER: Final = f"""
import socket
with socket.socket(type=socket.SOCK_DGRAM) as client:
    client.connect(("{SERVER_ADDRESS}", 9))
    while True:
        try:
            client.send(bytes(64))
        except ConnectionRefusedError:
            pass
"""


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recorder", default="target/release/bayop-interrupts-record")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="results go into a folder of today here")
    parser.add_argument("--duration", type=float, default=10.0, metavar="S", help="how long to record, in s (10)")
    args = parser.parse_args()
    with VethPair() as pair, tempfile.TemporaryDirectory() as logs:
        sender = subprocess.Popen(pair.client.command([sys.executable, "-c", _SENDER]))
        try:
            words = [args.recorder]
            printed = recorded(words, device=pair.device, netns=pair.server.path, duration_s=args.duration, cost=True)
            capture = record(printed, Path(logs), place=recorder_place(words), most_bytes=MOST_BYTES)
        finally:
            sender.kill()
            sender.wait()
        log_bytes = sum(path.stat().st_size for path in capture.paths)
    per_s = capture.records / float(capture.counted["duration_s"])
    summary = {**capture.counted, "records_per_s": round(per_s), "log_bytes_per_record": log_bytes / capture.records}
    tell_summary("bench.interrupts_record.run", summary, args.out)


if __name__ == "__main__":
    main()
