"""What does recording idle periods cost?

Two processes on two CPUs wake each other in turns, so that both CPUs go idle as often as they can, while
`bayop-idle-record --cost` runs. Writes summary.json.

Example:
  make probe && python -m bench.idle_record.run --out bench/idle_record/results
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Final

from bench import environment
from bench.idle_record.players import ping_pong

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
    folder = environment.results_folder(args.out)
    environment.write(folder, "bench.idle_record.run", sys.argv[1:])
    text = json.dumps(dict(recording.summary), indent=2)
    (folder / "summary.json").write_text(f"{text}\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
