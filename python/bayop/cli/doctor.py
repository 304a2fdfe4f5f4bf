"""`bayop doctor`: what a machine lets BayOp control and measure, and what to do about the rest."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Final

from bayop import _core
from bayop.agent import messages
from bayop.agent.address import SOCKET
from bayop.agent.messages import Finding
from bayop.cli import agent_flags, arguments, doctor_calibrate
from bayop.cli.output import console, literal, new_table, print_json

EXAMPLE: Final = """\
  bayop doctor
  bayop doctor --agent unix:/run/bayop/agent.sock --json
  bayop doctor --calibrate nic --agent https://web1:9617 --device eth0 --send web1:9 \\
      --agent-cert brain.pem --agent-key brain.key --agent-ca ca.pem
"""

_LOOK: Final = {"ok": "[green]ok[/green]", "note": "note", "missing": "[yellow]missing[/yellow]",
                "blocker": "[bold red]blocker[/bold red]"}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    agent_flags.add_agent(parser, "examine this agent's machine instead of this one")
    arguments.add_json(parser)
    doctor_calibrate.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Prints what was found; 4 when something makes BayOp useless here."""
    agent_flags.check_needs_agent(args)
    doctor_calibrate.check_flags(args)
    if args.calibrate is not None:
        return doctor_calibrate.run(args)
    if args.agent is not None:
        findings = agent_flags.client_of(args.agent, args).doctor()
    else:
        findings = messages.decode(
            "the examination", messages.findings, {"findings": _core.examine(socket=SOCKET.removeprefix("unix:"))}
        )
    if args.json:
        for finding in findings:
            print_json(
                {
                    "check": finding.check,
                    "status": finding.status,
                    "found": finding.found,
                    "why": finding.why,
                    "remedy": finding.remedy,
                }
            )
    else:
        _show(findings)
    return 4 if any(finding.status == "blocker" for finding in findings) else 0


def _show(findings: Sequence[Finding]) -> None:
    table = new_table()
    table.add_column("", no_wrap=True)
    for column in ("check", "found", "what to do"):
        table.add_column(column, overflow="fold")
    for finding in findings:
        advice = "" if finding.status == "ok" else finding.remedy or finding.why
        table.add_row(_LOOK[finding.status], literal(finding.check), literal(finding.found), literal(advice))
    screen = console()
    screen.print(table)
    blockers = [finding.check for finding in findings if finding.status == "blocker"]
    if blockers:
        screen.print(
            literal(f"BayOp can do nothing here until this is solved: {', '.join(blockers)}."), style="bold red"
        )
    else:
        screen.print("Nothing keeps BayOp from working here.")
