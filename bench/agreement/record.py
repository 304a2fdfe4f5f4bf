"""Records the stays in idle states of a real kernel under memcached: Debian's 6.1 in the lab.

Only the choices are real: the lab's idle states are one halt under three names, and its time is that of an emulator.

Example:
  make probe && python -m bench.agreement.record --out build/agreement
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from bench import environment

from bayop.idle import stays
from bayop.idle.recorder import Recording, read_recording
from bayop.idle.trace import Trace, write_trace
from lab import Files, Machine

RATES_QPS: Final = (0, 100, 400)
DURATION_S: Final = 20
CONNECTIONS: Final = 8
_PROGRAM: Final = "/usr/bin/bayop-idle-record"
_SYSFS: Final = "/sys/devices/system/cpu"
_REQUEST, _ANSWER = b"get absent\r\n", b"END\r\n"
_SETTLE_S: Final = 2.0


async def _send(port: int, qps: float, duration_s: float) -> int:
    """Sends requests at random times, and returns how many were answered within ten seconds after the last."""
    streams = []
    for _ in range(CONNECTIONS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(_REQUEST)
        await reader.readexactly(len(_ANSWER))
        streams.append((reader, writer))
    draw, began, due, sent = random.Random(1), time.monotonic(), 0.0, [0] * CONNECTIONS
    while (due := due + draw.expovariate(qps)) < duration_s:
        await asyncio.sleep(began + due - time.monotonic())
        turn = sum(sent) % CONNECTIONS
        streams[turn][1].write(_REQUEST)
        sent[turn] += 1
    async with asyncio.timeout(10):
        for (reader, writer), count in zip(streams, sent, strict=True):
            await reader.readexactly(count * len(_ANSWER))
            writer.close()
    return sum(sent)


def _record(machine: Machine, qps: float) -> tuple[Recording, int]:
    """A recording under a load, and the requests that were answered meanwhile."""
    with ThreadPoolExecutor(1) as pool:
        sends_s = DURATION_S + 2 * _SETTLE_S
        load = pool.submit(asyncio.run, _send(machine.ports.memcached, qps, sends_s)) if qps else None
        time.sleep(_SETTLE_S)
        # To a file, so that what is printed wakes nobody.
        machine.run(f"{_PROGRAM} --duration-s {DURATION_S} >/tmp/stays", timeout_s=10 * DURATION_S)
        requests = load.result() if load else 0
    recording = read_recording(machine.read("/tmp/stays").splitlines(keepends=True), _PROGRAM)  # noqa: S108 -- the guest's
    if recording is None:
        raise RuntimeError("the recorder printed nothing")
    return recording, requests


def _copy_states(machine: Machine, folder: Path) -> None:
    """The kernel's table of idle states, where `machine("own", root=folder)` finds it."""
    listing = machine.run(f"cd {_SYSFS}/cpu0/cpuidle && grep . state*/name state*/latency state*/residency").stdout
    for line in listing.splitlines():
        name, _, text = line.partition(":")
        path = folder / _SYSFS.lstrip("/") / "cpu0/cpuidle" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n", encoding="utf-8")


def main() -> None:
    """Records."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recorder", type=Path, default=Path("target/release/bayop-idle-record"))
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="traces go into a folder of today here")
    args = parser.parse_args()
    folder = environment.results_folder(args.out)
    environment.write(folder, "bench.agreement.record", sys.argv[1:])
    with Machine(files=Files().add_program(_PROGRAM, args.recorder)) as machine:
        _copy_states(machine, folder / "machine")
        summaries = {}
        for qps in RATES_QPS:
            recording, requests = _record(machine, qps)
            summaries[f"{qps}qps"] = {**recording.summary, "requests": requests}
            print(qps, summaries[f"{qps}qps"], flush=True)
            for cpu, of_cpu in recording.of_cpu.items():
                trace = Trace("", tuple(stays.periods(of_cpu)), tuple(of_cpu))
                write_trace(trace, folder / f"{qps}qps-cpu{cpu}.csv.gz")
    (folder / "recordings.json").write_text(json.dumps(summaries, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
