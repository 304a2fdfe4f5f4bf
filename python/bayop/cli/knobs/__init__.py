"""`bayop knobs`: what BayOp can set, on any machine or on one."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import msgspec

from bayop import _core
from bayop.cli.flags import agent as agent_flags
from bayop.cli.flags import arguments
from bayop.cli.terminal.output import console, literal, new_table, print_json
from bayop.errors import InputError
from bayop.live.agent.client import AgentClient
from bayop.live.agent.messages import Domain, MachineKnob, Place
from bayop.space import Knob, format_value

EXAMPLE: Final = """\
  bayop knobs
  bayop knobs --agent unix:/run/bayop/agent.sock
  bayop knobs --markdown
"""

_MOST_NAMES: Final = 4
"""How many places are named where more are alike."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    agent_flags.add_agent(parser, "what this agent's machine has of them")
    parser.add_argument("--markdown", action="store_true", help="print the reference page, docs/reference/knobs.md")
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the catalogue, or one machine's knobs."""
    agent_flags.check_needs_agent(args)
    if args.markdown:
        if args.agent is not None or args.json:
            raise InputError(
                "the reference page must be of the catalogue alone",
                wrong=f"--markdown and {'--json' if args.json else '--agent'} were both given",
                place="--markdown",
            )
        from bayop.cli.knobs.page import page

        print(page(_core.knob_catalogue(), _core.driver_rules()), end="")
    elif args.agent is not None:
        _print_machine(agent_flags.client_of(args.agent, args), json=args.json)
    elif args.json:
        for entry in _core.knob_catalogue():
            print_json({"event": "knob", **entry})
    else:
        _print_catalogue()
    return 0


def _print_catalogue() -> None:
    table = new_table("the whole reference: bayop knobs --markdown; one machine's own: bayop knobs --agent ADDRESS")
    table.add_column("knob", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    table.add_column("what it does", overflow="fold")
    table.add_column("place", overflow="fold")
    for entry in _core.knob_catalogue():
        table.add_row(*map(literal, (entry["id"], entry["unit"] or "", entry["summary"], entry["place"])))
    console().print(table)


def _print_machine(client: AgentClient, *, json: bool) -> None:
    machine = client.knobs()
    if json:
        for knob in machine.knobs:
            for place in knob.places:
                print_json(_event(knob, place))
        for knob_id, why in machine.why_missing.items():
            print_json({"event": "missing", "knob": knob_id, "why": why})
        return
    table = new_table()
    table.add_column("knob", no_wrap=True)
    table.add_column("place", overflow="fold")
    table.add_column("in effect", justify="right", overflow="fold")
    table.add_column("takes", overflow="fold")
    table.add_column("allowed", overflow="fold")
    remarks = [f"no {knob_id}: {why}" for knob_id, why in machine.why_missing.items()]
    for knob in machine.knobs:
        for place, where in _alike(knob.places):
            effective = "unknown" if place.effective is None else format_value(knob.id, place.effective)
            if place.error is not None:
                remarks.append(f"{knob.id} of {where}: {place.error}")
            cells = (knob.id, where, effective, _describe(knob.id, place.domain), _allowed(knob.id, place))
            table.add_row(*map(literal, cells))
    screen = console()
    screen.print(table)
    for remark in remarks:
        screen.print(literal(remark), style="dim")


def _alike(places: Sequence[Place]) -> list[tuple[Place, str]]:
    """One of all places that are alike, and the names of them all: CPUs and queues come by the dozen."""
    names: dict[tuple[object, ...], list[str]] = defaultdict(list)
    first: dict[tuple[object, ...], Place] = {}
    for place in places:
        key = (place.domain, place.allowed, place.effective, place.error)
        names[key].append(place.at)
        first.setdefault(key, place)
    return [(place, _enumerate(names[key])) for key, place in first.items()]


def _enumerate(names: Sequence[str]) -> str:
    if len(names) <= _MOST_NAMES:
        return ", ".join(names)
    return f"{', '.join(names[: _MOST_NAMES - 1])} and {len(names) - _MOST_NAMES + 1} more"


def _allowed(knob_id: str, place: Place) -> str:
    if place.allowed is None:
        return "none"
    return "all" if place.allowed == place.domain else _describe(knob_id, place.allowed)


def _describe(knob_id: str, domain: Domain) -> str:
    return Knob(knob_id, domain.values).describe()


def _event(knob: MachineKnob, place: Place) -> dict[str, object]:
    return {
        "event": "place",
        "knob": knob.id,
        "at": place.at,
        "domain": _plain(place.domain),
        "allowed": None if place.allowed is None else _plain(place.allowed),
        "effective": place.effective,
        "error": place.error and str(place.error),
    }


def _plain(domain: Domain) -> object:
    return msgspec.to_builtins(domain.steps or domain)
