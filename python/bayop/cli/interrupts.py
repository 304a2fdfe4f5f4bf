"""`bayop interrupts`: logs with one record per interrupt - what they show, and smaller files of them."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Final

EXAMPLE: Final = """\
  bayop interrupts show interrupts_netpipe_*.csv.gz --out build/interrupts
  bayop interrupts show linux.mcd.dmesg.0 --tsc-mhz 2899.999 --json
  bayop interrupts convert linux.mcd.dmesg.0 --out core0.parquet
"""

ACTIONS: Final[dict[str, str]] = {
    "show": "summarise logs: spacing, traffic, busy time, idle states, energy and instructions",
    "convert": "write a log as Parquet, which is smaller and several times as fast to read",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the actions and their flags."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for action, summary in ACTIONS.items():
        module = import_module(f"bayop.cli.interrupts_{action}")
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
