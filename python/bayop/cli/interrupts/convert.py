"""`bayop interrupts convert`: a log as Parquet."""

from __future__ import annotations

import argparse
from typing import Final

from bayop.cli.flags import arguments
from bayop.cli.interrupts.flags import add_machine, open_given
from bayop.cli.terminal.new_files import check_out
from bayop.cli.terminal.output import console, print_json
from bayop.errors import InputError

EXAMPLE: Final = """\
  bayop interrupts convert interrupts_netpipe_linux_default_64B.csv.gz --out default_64B.parquet
  bayop interrupts convert ebbrt.dmesg.0 --tsc-mhz 2899.999 --energy-unit-uj 15.2588 --out core0.parquet
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument("file", type=arguments.reader(arguments.path, "FILE"), metavar="FILE", help="the log")
    parser.add_argument(
        "--out",
        type=arguments.reader(arguments.path, "--out"),
        required=True,
        metavar="FILE.parquet",
        help="the result",
    )
    add_machine(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Reads, checks and writes."""
    from bayop.interrupts.convert import convert

    if args.out.suffix != ".parquet":
        raise InputError("the result must be a .parquet file", value=str(args.out), place="--out")
    check_out(args.out)
    records = convert(open_given(args.file, args), args.out)
    bytes_before, bytes_after = args.file.stat().st_size, args.out.stat().st_size
    if args.json:
        print_json(
            {
                "event": "written",
                "file": str(args.file),
                "out": str(args.out),
                "records": records,
                "bytes": bytes_after,
            }
        )
    else:
        console().print(
            f"{records} records: {bytes_before / 1e6:.1f} MB became {bytes_after / 1e6:.1f} MB in {args.out}",
            markup=False,
        )
    return 0
