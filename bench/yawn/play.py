"""How do the cores of [Y]'s server spend their time, and what does its day take?

Keeps what `bayop idle cores` and `bayop idle day` print of it, as cores.jsonl and day.jsonl. `python -m
bench.yawn.page` makes tables and figures of docs/idle.md of them.

Example:
  python -m bench.yawn.play --data ../shared/data --out bench/yawn/results
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Final

from bench import environment

SLO: Final = "p99<150us"
"""Under menu a fifth of the day was over it as published, under Yawn nothing."""


def main() -> None:
    """Runs both verbs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="the published tables")
    parser.add_argument("--requests", type=int, metavar="N", help="simulated in each window (default: the verbs' own)")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="a folder of today is made here")
    args = parser.parse_args()
    folder = environment.results_folder(args.out)
    environment.write(folder, "bench.yawn.play", sys.argv[1:])
    trace = str(args.data / "yawn_trace_by_minute.csv")
    length = [] if args.requests is None else ["--requests", str(args.requests)]
    for verb, words in {"cores": [], "day": [trace, "--slo", SLO]}.items():
        with (folder / f"{verb}.jsonl").open("w", encoding="utf-8") as file:
            command = [sys.executable, "-m", "bayop", "idle", verb, *words, *length, "--json"]
            subprocess.run(command, stdout=file, check=True)


if __name__ == "__main__":
    main()
