"""`bayop pause`: the machines' own settings back within a second, and nothing searched or held until `bayop resume`."""

from __future__ import annotations

import argparse
from typing import Final

from bayop.cli.flags import arguments, running
from bayop.errors import DriftError

EXAMPLE: Final = """\
  bayop pause
  bayop pause cache --file bayop.toml
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    running.add_service(parser, required=False)
    running.add_file(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Pauses and says how the services stand; 3 when a machine is not known to have its own settings.

    Raises:
        DriftError: that.
    """
    events = running.tell(args, args.service)
    running.show(events, json=args.json)
    if missing := [event["service"] for event in events if event["doing"] != "paused" or not event["restored"]]:
        raise DriftError(
            wrong=f"{', '.join(missing)} must not apply anything any more, but its machine could not be put back yet",
            hint="its lease ends by itself; bayop status says what the agent holds, bayop restore puts it back",
        )
    return 0
