"""`bayop study`: tables of trials - look at them, join them, bring them into another format."""

from __future__ import annotations

import argparse
from typing import Final

from bayop.cli.flags.actions import add_actions, run_action

EXAMPLE: Final = """\
  bayop study show example:memcached
  bayop study merge monday.parquet tuesday.parquet --out week.parquet
  bayop study export example:silo --out silo.parquet
  bayop study import 10_29_2020 --out memcached.parquet
  bayop study columns
"""

ACTIONS: Final[dict[str, str]] = {
    "show": "say what a study holds",
    "merge": "join studies; a trial that several have is kept once",
    "export": "write a study, or a published table, in another format",
    "import": "make a study of folders of raw interrupt logs, a row a run",
    "columns": "list the columns that a study may have",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the actions and their flags."""
    add_actions(parser, "study", ACTIONS)


run = run_action
