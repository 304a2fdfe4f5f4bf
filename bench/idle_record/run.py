"""What does recording idle periods cost?

Two processes on two CPUs wake each other in turns, so that both CPUs go idle as often as they can, while
`bayop-idle-record --cost` runs. Writes summary.json.

Example:
  make probe && python -m bench.idle_record.run --out bench/idle_record/results
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from bench import environment

from bayop.idle.recorder import record

DURATION_S: Final = 10.0
_PLAYER: Final = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nwhile x := os.read(0, 1): os.write(1, x)"


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recorder", default="target/release/bayop-idle-record")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="results go into a folder of today here")
    args = parser.parse_args()
    (to_first, from_second), (to_second, from_first) = (os.pipe()[::-1] for _ in range(2))
    ends = {0: (from_second, to_second), 1: (from_first, to_first)}
    players = [
        subprocess.Popen([sys.executable, "-c", _PLAYER, str(cpu)], stdin=read, stdout=write)
        for cpu, (read, write) in ends.items()
    ]
    try:
        os.write(to_first, b"x")
        recording = record([args.recorder, "--most-stays", "5000000"], duration_s=DURATION_S, cost=True)
    finally:
        for player in players:
            player.kill()
            player.wait()
    folder = environment.results_folder(args.out)
    environment.write(folder, "bench.idle_record.run", sys.argv[1:])
    text = json.dumps(dict(recording.summary), indent=2)
    (folder / "summary.json").write_text(f"{text}\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
