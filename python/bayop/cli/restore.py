"""`bayop restore`: the machine's own settings back, whoever changed them; the undo of `bayop tune --keep`."""

from __future__ import annotations

import argparse
from typing import Final

from bayop.cli.flags import agent as agent_flags
from bayop.cli.flags import arguments
from bayop.cli.terminal.output import console, literal, print_json
from bayop.live.agent.address import SOCKET
from bayop.live.agent.checks import check_restored

EXAMPLE: Final = """\
  bayop restore
  bayop restore --agent unix:/run/bayop/agent.sock
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    agent_flags.add_agent(parser, f"the agent to ask (default: {SOCKET}, this machine's)")
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Restores and says what became of each knob; 3 when the kernel refuses an original value."""
    client = agent_flags.client_of(args.agent or SOCKET, args)
    holder = client.status().lease_holder
    result = client.restore()
    if args.json:
        print_json(
            {
                "event": "restored",
                "restored": list(result.restored),
                "stood_down": list(result.stood_down),
                "latched": {latched.knob: latched.reason for latched in result.latched},
                "lease_ended": holder,
            }
        )
    else:
        screen = console()
        for knob in result.restored:
            screen.print(literal(f"restored  {knob}"))
        for knob in result.stood_down:
            screen.print(literal(f"left      {knob}, which somebody else has changed since"))
        if holder is not None:
            screen.print(literal(f"The lease of {holder} has ended with it."))
        if not (result.restored or result.stood_down or result.latched):
            screen.print("Nothing was held: the machine has its own settings.")
    check_restored(result)
    return 0
