"""`bayop interrupts`: logs with one record per interrupt - recorded, shown, and in smaller files; and live."""

from __future__ import annotations

import argparse
from typing import Final

from bayop.cli.flags.actions import add_actions, run_action

EXAMPLE: Final = """\
  bayop interrupts show interrupts_netpipe_*.csv.gz --out build/interrupts
  bayop interrupts show linux.mcd.dmesg.0 --tsc-mhz 2899.999 --json
  bayop interrupts watch --device eth0
  bayop interrupts record --device eth0 --out logs
  bayop interrupts convert linux.mcd.dmesg.0 --out core0.parquet
"""

ACTIONS: Final[dict[str, str]] = {
    "watch": "show the interrupts of a NIC of a running kernel as they come, by eBPF",
    "record": "record the interrupts of a NIC of a running kernel, by eBPF",
    "show": "summarise logs: spacing, traffic, busy time, idle states, energy and instructions",
    "convert": "write a log as Parquet, which is smaller and several times as fast to read",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the actions and their flags."""
    add_actions(parser, "interrupts", ACTIONS)


run = run_action
