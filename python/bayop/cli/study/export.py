"""`bayop study export`: a study, or a published table, in another format."""

from __future__ import annotations

import argparse
from typing import Final

from bayop.cli.flags import arguments
from bayop.cli.study.flags import add_out, check_out, print_written

EXAMPLE: Final = """\
  bayop study export sweep.parquet --out sweep.csv.gz
  bayop study export example:memcached --out memcached.parquet
  bayop study export example:silo --trusted --out silo.csv
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument(
        "study",
        type=arguments.reader(arguments.study_file, "the study"),
        metavar="FILE",
        help="a study in Parquet, CSV or CSV.gz; or, to import it, a published table: study_*.csv, systor_*.csv with "
        "loads, yawn_trace_by_minute.csv",
    )
    parser.add_argument("--trusted", action="store_true", help="leave out trials that are suspect or were cut short")
    add_out(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Reads, checks and writes."""
    from bayop.study import open_study, trusted, write_study

    check_out(args.out)
    frame = open_study(args.study)
    if args.trusted:
        frame = trusted(frame)
    write_study(frame, args.out)
    print_written(args.out, trials=frame.height, columns=frame.width, json=args.json)
    return 0
