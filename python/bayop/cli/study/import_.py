"""`bayop study import`: folders of raw interrupt logs as a study."""

from __future__ import annotations

import argparse
from typing import Final

from bayop.cli.flags import arguments
from bayop.cli.interrupts.flags import add_machine, open_given
from bayop.cli.study.flags import add_out, check_out, print_written
from bayop.cli.terminal.output import progress

EXAMPLE: Final = """\
  bayop study import 10_29_2020 --out memcached.parquet
  bayop study import linux/netpipe ebbrt/netpipe_logs --out netpipe.csv --json
  bayop study import ebbrt/mcdsilo --ebbrt-app silo --tsc-mhz 2899.999 --out silo.csv.gz
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument(
        "folders",
        nargs="+",
        type=arguments.reader(arguments.path, "the folders"),
        metavar="FOLDER",
        help="raw logs as intlog's scripts collect them, linux.mcd.*, linux.mcdsilo.*, linux.np.*, linux.node.*, "
        "ebbrt_* or ebbrt.*: a run becomes a row, and the folder's name is the campaign's",
    )
    parser.add_argument(
        "--ebbrt-app",
        choices=("memcached", "silo"),
        help="what the runs ebbrt_* with a QPS served, which their names do not say",
    )
    add_out(parser)
    add_machine(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Finds the runs, reads their logs and writes the study."""
    from bayop.interrupts.run_study import find_log_folders, study_of
    from bayop.study import write_study

    # Logs take minutes to read; what can't be written is said before.
    check_out(args.out)
    folders = find_log_folders(args.folders, ebbrt_app=args.ebbrt_app)
    logs = sum(len(one.logs) for folder in folders for one in folder.runs)
    with progress("logs", logs) as bar:
        frame = study_of(folders, open_log=lambda path: open_given(path, args), on_log=bar.advance)
    write_study(frame, args.out)
    print_written(args.out, trials=frame.height, columns=frame.width, json=args.json)
    return 0
