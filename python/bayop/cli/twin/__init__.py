"""`bayop twin`: the digital twin by itself - run it, compare it with measurements, fit it to them."""

from __future__ import annotations

import argparse
from typing import Final

from bayop.cli.flags.actions import add_actions, run_action

EXAMPLE: Final = """\
  bayop twin run --load 600kqps --setting auto --setting cpu.freq_mhz=2.1GHz
  bayop twin validate --data example:memcached
  bayop twin fit --data example:silo --profile linux-silo --out fitted.toml
  bayop twin crossvalidate --data example:silo --profile linux-silo
  bayop twin generality
"""

ACTIONS: Final[dict[str, str]] = {
    "run": "simulate settings of a profile under a load",
    "validate": "simulate every measured cell of a study and show how far the twin is off",
    "fit": "fit numbers of a profile to measured cells, or to captures of interrupts, and write it",
    "crossvalidate": "fit on all loads of a study but one and predict that one, for every load",
    "generality": "search services of microseconds to seconds on four machines and show what is saved",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the actions and their flags."""
    add_actions(parser, "twin", ACTIONS)


run = run_action
