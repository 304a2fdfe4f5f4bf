"""`bayop status`: what an agent holds on its machine, and whether it is in effect; or how `bayop run` stands."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Final

from bayop.cli.flags import agent as agent_flags
from bayop.cli.flags import arguments, running
from bayop.cli.terminal import exit_codes
from bayop.cli.terminal.output import console, literal, new_table, print_json
from bayop.domains import Value
from bayop.errors import InputError
from bayop.live.agent.address import SOCKET
from bayop.live.agent.messages import AppliedBy, HeldKnob, HoldInForce, LeaseInForce, Status
from bayop.space import format_value
from bayop.units import DAY_S, HOUR_S, round_significant

EXAMPLE: Final = """\
  bayop status
  bayop status --agent unix:/run/bayop/agent.sock --json
  bayop status --file /etc/bayop/bayop.toml
"""

_LOOK: Final = {"held": "held", "stood_down": "[yellow]stood down[/yellow]", "latched": "[bold red]latched[/bold red]"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    agent_flags.add_agent(parser, f"the agent to ask (default: {SOCKET}, this machine's)")
    running.add_file(parser, default=None)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Prints what is held; 3 when some of it is not as BayOp left it. With `--file`, how the services stand.

    Raises:
        InputError: both an agent and a file are named.
    """
    if args.file is not None:
        if args.agent is not None:
            raise InputError(
                "one of both must be asked", wrong="--agent asks an agent, and --file a bayop run", place="--file"
            )
        running.show(running.tell(args), json=args.json)
        return exit_codes.DONE
    address = args.agent or SOCKET
    status = agent_flags.client_of(address, args).status()
    if args.json:
        print_json(_event(address, status))
    else:
        _show(address, status)
    return exit_codes.DONE if is_sound(status) else exit_codes.DRIFT


def is_sound(status: Status) -> bool:
    """Whether everything that is held reads as BayOp left it, and can be restored."""
    return status.damage is None and all(held.state == "held" for held in status.held)


def _event(address: str, status: Status) -> dict[str, object]:
    lease = None if status.lease is None else _tenure(status.lease) | {"ends_in_s": status.lease.expires_in_s}
    return {
        "event": "status",
        "agent": address,
        "version": status.version,
        "mode": status.mode,
        "lease": lease,
        "kept": status.kept,
        "applied_by": None if status.applied_by is None else _tenure(status.applied_by),
        "held": [
            {
                "knob": held.knob,
                "state": held.state,
                "found": held.found,
                "requested": held.requested,
                "effective": held.effective,
                "reason": held.reason,
            }
            for held in status.held
        ],
        "hold": None if status.hold is None else _hold(status.hold),
        "damage": status.damage,
    }


def _hold(hold: HoldInForce) -> dict[str, object]:
    fell_back = hold.fell_back
    return {
        "setting": hold.setting,
        "fall_back": hold.fall_back,
        "age_s": round_significant(hold.age_s),
        "fell_back": None
        if fell_back is None
        else {
            "condition": fell_back.condition,
            "seen": fell_back.seen,
            "age_s": round_significant(fell_back.age_s),
            "failure": None if fell_back.error is None else str(fell_back.error),
        },
    }


def _tenure(tenure: AppliedBy | LeaseInForce) -> dict[str, object]:
    return {"holder": tenure.holder, "age_s": round_significant(tenure.age_s)}


def _show(address: str, status: Status) -> None:
    screen = console()
    screen.print(literal(f"bayop-agent {status.version} at {address}, mode {status.mode}"))
    if status.lease is None:
        screen.print("No lease: nobody may write.")
    else:
        ends = f"it ends in {status.lease.expires_in_s:.0f} s unless it is renewed"
        screen.print(literal(f"Lease: {status.lease.holder}, for {_ago(status.lease.age_s)}; {ends}."))
    if not status.held:
        screen.print("Nothing is held: the machine has its own settings.")
    else:
        _show_held(status)
    if status.hold is not None:
        screen.print(literal(_hold_line(status.hold)))
    if status.damage is not None:
        screen.print(literal(f"Nothing is applied any more: {status.damage}."), style="bold red")
        screen.print("When the machine is right: bayop-agent restore --discard-damaged, on the server")


def _hold_line(hold: HoldInForce) -> str:
    if hold.fell_back is None:
        return f"Held under conditions, for {_ago(hold.age_s)}; what takes its place: {_listed(hold.fall_back)}."
    why = f"{_ago(hold.fell_back.age_s)} ago: {hold.fell_back.seen}"
    if hold.fell_back.error is not None:
        return f"The agent could not fall back {why}; it restored the machine ({hold.fell_back.error})."
    return f"The agent fell back {why}. In effect: {_listed(hold.fall_back)}."


def _listed(setting: Mapping[str, Value]) -> str:
    values = (f"{knob} {format_value(knob.partition('@')[0], value)}" for knob, value in setting.items())
    return ", ".join(values) or "the machine's own settings"


def _show_held(status: Status) -> None:
    screen = console()
    if status.applied_by is not None:
        text = f"Applied {_ago(status.applied_by.age_s)} ago by {status.applied_by.holder}"
        screen.print(literal(f"{text}; kept until bayop restore." if status.kept else f"{text}."))
    table = new_table()
    for column in ("knob", "own value", "asked", "in effect", "state"):
        table.add_column(column, justify="left" if column in ("knob", "state") else "right", overflow="fold")
    for held in status.held:
        values = (_format(held, value) for value in (held.found, held.requested, held.effective))
        table.add_row(literal(held.knob), *map(literal, values), _LOOK[held.state])
    screen.print(table)
    for held in status.held:
        if held.reason is not None:
            screen.print(literal(f"{held.knob}: {held.reason}"))
    if not is_sound(status):
        screen.print("bayop restore puts back what it can; what somebody else has changed stays as it is.")


def _format(held: HeldKnob, value: Value | None) -> str:
    return "unknown" if value is None else format_value(held.knob.partition("@")[0], value)


def _ago(age_s: float) -> str:
    """A time for people, without the digits that mean nothing: `12 s`, `3 min`, `5 h`, `9 d`."""
    for length_s, unit in ((DAY_S, "d"), (HOUR_S, "h"), (60.0, "min")):
        if age_s >= 2 * length_s:
            return f"{age_s / length_s:.0f} {unit}"
    return f"{age_s:.0f} s"
