"""`bayop study merge`: several studies as one."""

from __future__ import annotations

import argparse
from typing import Final

from bayop.cli.flags import arguments
from bayop.cli.study.flags import add_out, check_out, print_written
from bayop.errors import InputError

EXAMPLE: Final = """\
  bayop study merge monday.parquet tuesday.csv --out week.parquet
  bayop study merge example:memcached example:silo --out published.parquet --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument(
        "studies",
        nargs="+",
        type=arguments.reader(arguments.study_file, "the studies"),
        metavar="FILE",
        help="a study in any format that export reads; columns join by name",
    )
    add_out(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Reads all, joins them and writes one."""
    from bayop.study import merge_studies, open_study, write_study

    check_out(args.out)
    try:
        frame = merge_studies([open_study(path) for path in args.studies])
    except InputError as error:
        raise error.at(", ".join(map(str, args.studies))) from error
    write_study(frame, args.out)
    print_written(args.out, trials=frame.height, columns=frame.width, json=args.json)
    return 0
