"""`bayop idle synthesize`: a trace of idle periods as packets of a kind would leave them."""

from __future__ import annotations

import argparse
from typing import Final

from bayop.cli.flags import arguments
from bayop.cli.terminal.new_files import check_out
from bayop.cli.terminal.output import console, print_json

EXAMPLE: Final = """\
  bayop idle synthesize mmpp --seed 3 --out mmpp.csv.gz
"""

_KINDS: Final = ("poisson", "mmpp", "pareto", "periodic", "batch", "diurnal")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument("kind", choices=_KINDS, metavar="KIND", help=f"how packets come: {', '.join(_KINDS)}")
    arguments.add_seed(parser)
    parser.add_argument(
        "--out", type=arguments.reader(arguments.path, "--out"), required=True, metavar="FILE", help="the trace, as CSV"
    )
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Makes the trace and writes it."""
    from bayop.errors import unwritable
    from bayop.idle.synthetic import synthetic_trace
    from bayop.idle.trace import write_trace

    check_out(args.out)
    trace = synthetic_trace(args.kind, args.seed)
    try:
        write_trace(trace, args.out)
    except OSError as error:
        raise unwritable(args.out, error, place="--out") from error
    if args.json:
        print_json({"event": "written", "out": str(args.out), "periods": len(trace.rows)})
    else:
        console().print(f"{len(trace.rows)} idle periods in {args.out}", markup=False)
    return 0
