"""`bayop idle`: governors that choose how deeply a core sleeps, on recorded idle periods and on the twin."""

from __future__ import annotations

import argparse
from typing import Final

from bayop.cli.flags.actions import add_actions, run_action

EXAMPLE: Final = """\
  bayop idle synthesize poisson --seed 1 --out poisson.csv.gz
  bayop idle replay poisson.csv.gz --governors menu,teo,yawn,bayop
  bayop idle replay ../shared/data/idle/*.csv.gz --machine skylake-sp --json
  bayop idle cores --loads 5k,20k,70k
  bayop idle govern --price 0.3 --dry-run
  bayop idle day ../shared/data/yawn_trace_by_minute.csv --out build/idle
"""

ACTIONS: Final[dict[str, str]] = {
    "replay": "compare governors on traces of idle periods: energy, wake latency, time of a decision",
    "cores": "how each core of the twin spends its time over load, with and without the balancer of awakened requests",
    "day": "a day of changing load on the twin under idle governors: energy, power, latency",
    "govern": "limit how deeply a running machine's CPUs may sleep, from how long they do",
    "record": "record how a running kernel's CPUs are idle, a trace for each",
    "synthesize": "write a trace of idle periods as packets of a kind would leave them",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the actions and their flags."""
    add_actions(parser, "idle", ACTIONS)


run = run_action
