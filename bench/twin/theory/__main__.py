"""Holds the twin against exact theory, and rewrites the table of docs/twin.md.

    python -m bench.twin.theory             prints the rows and writes the table
    python -m bench.twin.theory --check     writes nothing; exit code 1 if the table no longer follows from the code
    python -m bench.twin.theory --json      one row a line, and writes nothing

The exit code is 1 too when a row does not hold. The table stands between `<!-- theory -->` and `<!-- end -->`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict

from bench.markdown import rewrite_tables
from bench.twin.tables import PAGE

from .suite import rows, table


def main() -> int:
    """Writes or checks the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8, help="independent simulations of every row")
    parser.add_argument("--seed", type=int, default=0, help="the first of them")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--check", action="store_true", help="change nothing")
    form.add_argument("--json", action="store_true", help="print rows as JSON, and change nothing")
    args = parser.parse_args()
    if args.seeds < 2:
        parser.error("--seeds must be 2 or more: one alone has no confidence")
    found = list(rows(seeds=args.seeds, seed=args.seed, threads=args.threads))
    fails = not all(row.holds for row in found)
    if args.json:
        for row in found:
            print(json.dumps(asdict(row)))
        return int(fails)
    print(table(found))
    code = rewrite_tables(PAGE, {"theory": table(found)}, check=args.check)
    return int(fails) or code


if __name__ == "__main__":
    sys.exit(main())
