"""`bayop study`: tables of trials - look at them, join them, bring them into another format."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Final

EXAMPLE: Final = """\
  bayop study show study_memcached.csv
  bayop study merge monday.parquet tuesday.parquet --out week.parquet
  bayop study export study_silo.csv --out silo.parquet
  bayop study columns
"""

ACTIONS: Final[dict[str, str]] = {
    "show": "say what a study holds",
    "merge": "join studies; a trial that several have is kept once",
    "export": "write a study, or a published table, in another format",
    "columns": "list the columns that a study may have",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the actions and their flags."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for action, summary in ACTIONS.items():
        module = import_module(f"bayop.cli.study_{action}")
        action_parser = actions.add_parser(
            action,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog=f"examples:\n{module.EXAMPLE}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        module.add_arguments(action_parser)
        action_parser.set_defaults(run_action=module.run)


def run(args: argparse.Namespace) -> int:
    """Does what was asked."""
    return int(args.run_action(args))
