"""What does recording idle periods cost?

Two processes on two CPUs wake each other in turns, so that both CPUs go idle as often as they can, while
`bayop-idle-record --cost` runs. Writes summary.json.

Example:
  make probe && python -m bench.idle_record.run --out bench/idle_record/results
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from bench.idle_record.players import ping_pong
from bench.results import tell_summary

from bayop.idle.recorder import record

DURATION_S: Final = 10.0


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recorder", default="target/release/bayop-idle-record")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="results go into a folder of today here")
    args = parser.parse_args()
    with ping_pong():
        recording = record([args.recorder, "--most-stays", "5000000"], duration_s=DURATION_S, cost=True)
    tell_summary("bench.idle_record.run", dict(recording.summary), args.out)


if __name__ == "__main__":
    main()
