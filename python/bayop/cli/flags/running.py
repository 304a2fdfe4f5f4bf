"""The flags with which several verbs reach a `bayop run`, and what they show of its services."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bayop.cli.flags import arguments
from bayop.cli.terminal.intervals import format_interval
from bayop.cli.terminal.output import console, literal, new_table, print_json
from bayop.space import format_setting

if TYPE_CHECKING:
    from bayop.daemon.file import DaemonFile

FILE: Final = Path("/etc/bayop/bayop.toml")

_COLUMNS: Final = ("service", "doing", "in effect", "qps", "power", "latency", "margin", "budget left")


def add_file(parser: argparse.ArgumentParser, *, default: Path | None = FILE) -> None:
    """`--file`."""
    usual = "" if default is None else f" (default: {default})"
    parser.add_argument(
        "--file",
        type=arguments.reader(arguments.path, "--file"),
        default=default,
        metavar="FILE",
        help=f"the bayop.toml of bayop run, or the state that it names{usual}",
    )


def add_service(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """The service that is meant."""
    parser.add_argument(
        "service",
        nargs=None if required else "?",
        metavar="SERVICE",
        help="the service, as its table is called" + ("" if required else " (left out: all)"),
    )


def tell(args: argparse.Namespace, service: str | None = None) -> list[dict[str, Any]]:
    """What `bayop run` answers to the verb.

    Raises:
        InputError: the file names no state that can be.
        UnsupportedError: none answers, or it does not let us in.
        BayopError: it refuses.
    """
    from bayop.daemon.operator.client import ask

    return ask(state_at(args.file), args.verb, **({} if service is None else {"service": service}))


def state_at(file: Path) -> Path:
    """The state that a `bayop.toml` names, or that is named itself.

    Raises:
        InputError: it can't be found out, or is no file.
    """
    if file.suffix == ".toml":
        from bayop.daemon.file import state_of

        return state_of(file)
    from bayop.state.records import state_file

    return state_file(file)


def remembered(file: DaemonFile) -> Path:
    """The state of a file whose `bayop run` has begun once.

    Raises:
        InputError: it has not.
    """
    from bayop.state.records import written

    return written(file.state)


def show(events: Sequence[Mapping[str, Any]], *, json: bool) -> None:
    """Prints how services stand."""
    if json:
        for event in events:
            print_json(event)
        return
    table = new_table()
    for column in _COLUMNS:
        table.add_column(column, justify="left" if column in _COLUMNS[:3] else "right", overflow="fold")
    for event in events:
        table.add_row(*(literal(cell) for cell in _row(event)))
    console().print(table)
    for event in events:
        for note in _notes(event):
            console().print(literal(f"{event['service']}: {note}"))


def _row(event: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        event["service"],
        event["doing"],
        _in_effect(event),
        _number(event["qps"], ".0f", ""),
        *(
            _number(event[name] if event["current"] else None, digits, unit)
            for name, digits, unit in (("power_w", ".1f", " W"), ("latency_us", ".0f", " us"), ("margin", ".0%", ""))
        ),
        _number(event["budget_left"], ".1%", ""),
    )


def _in_effect(event: Mapping[str, Any]) -> str:
    if event["setting"] is not None:
        return format_setting(event["setting"])
    return "default" if event["restored"] else "unknown"


def _number(value: float | None, digits: str, unit: str) -> str:
    return "" if value is None else f"{value:{digits}}{unit}"


def _notes(event: Mapping[str, Any]) -> list[str]:
    notes = []
    if event["paused_by"]:
        notes.append(f"paused by {' and '.join(event['paused_by'])}")
    if event["quiet_until"] is not None:
        notes.append(f"quiet hours until {event['quiet_until']}: nothing is tried")
    if event["waits_for"] is not None:
        notes.append(f"waits for {event['waits_for']}: of its group one is searched at a time")
    if event["budget_left"] == 0:
        notes.append("the error budget is spent: nothing is tried before the period has rolled on")
    if (saved := event.get("saved")) is not None and saved["power_w"] is not None:
        notes.append(f"saved in 7 days: {_saved(saved)}")
    if event["trouble"] is not None:
        notes.append(event["trouble"])
    return notes


def _saved(saved: Mapping[str, Any]) -> str:
    units = {"power_w": "W", "energy_kwh": "kWh", "cost": saved["currency"] or "", "carbon_g": "g CO2e"}
    known = (format_interval(saved[name], unit) for name, unit in units.items() if saved[name] is not None)
    return f"{', '.join(known)}; by {saved['switchbacks']} switchbacks"
