"""`bayop doctor --exercise`: sets every allowed knob to two values, reads back, restores, and says how it went."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing

from bayop.cli.flags import agent as agent_flags
from bayop.cli.terminal import exit_codes
from bayop.cli.terminal.asking import is_agreed
from bayop.cli.terminal.output import console, literal, new_table, print_json, progress
from bayop.domains import Value
from bayop.errors import InputError
from bayop.live.agent.address import SOCKET
from bayop.live.agent.client import AgentClient
from bayop.machine.exercise import Attempt, Exercise, allowed_places, exercise
from bayop.space import format_value
from bayop.units import round_significant


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument(
        "--exercise",
        action="store_true",
        help="set every knob that the agent allows to two values, in every place, read back and restore",
    )
    parser.add_argument("--yes", action="store_true", help="exercise: do not ask first")


def run(args: argparse.Namespace) -> int:
    """Exercises the knobs and prints each; 1 when nobody says yes, 3 when one did not read back or was not restored."""
    client = agent_flags.client_of(args.agent or SOCKET, args)
    allowed = allowed_places(client)
    if not args.yes and not _is_wanted(client, len(allowed), json=args.json):
        sys.stderr.write("nothing was changed\n")
        return 1
    results: list[Exercise] = []
    exercising = exercise(client, allowed, holder=agent_flags.holder("doctor"))
    with progress("knobs", len(allowed)) as bar, closing(exercising):
        for result in exercising:
            results.append(result)
            bar.advance()
            if args.json:
                print_json(_event(result))
    failures = [result for result in results if result.failure is not None]
    if args.json:
        print_json({"event": "exercised", "places": len(results), "failed": [result.knob for result in failures]})
    else:
        _show(results)
    return exit_codes.DRIFT if failures else exit_codes.DONE


def _is_wanted(client: AgentClient, count: int, *, json: bool) -> bool:
    """Asks on a terminal.

    Raises:
        InputError: there is nobody to ask.
    """
    nobody = InputError(
        "an exercise must be agreed to", wrong="there is no terminal to ask on", place="--exercise", hint="add --yes"
    )
    if json:
        raise nobody
    return is_agreed(
        f"This writes {count} places of knobs at {client.address}, two values each, while its services run.\n"
        "Each is restored at once. Go on?",
        nobody=nobody,
    )


def _event(result: Exercise) -> dict[str, object]:
    return {
        "event": "exercise",
        "knob": result.knob,
        "found": result.found,
        "attempts": [_attempt(attempt) for attempt in result.attempts],
        "restored": _attempt(result.restored),
        "failure": result.failure,
    }


def _attempt(attempt: Attempt) -> dict[str, object]:
    return {
        "asked": attempt.asked,
        "effective": attempt.effective,
        "duration_ms": round_significant(attempt.duration_ms, 3),
        "error": attempt.error,
    }


def _show(results: list[Exercise]) -> None:
    table = new_table()
    for column in ("knob", "found", "asked", "in effect", "restored", "ms"):
        table.add_column(column, justify="left" if column == "knob" else "right", overflow="fold")
    table.add_column("", no_wrap=True)
    for result in results:
        knob_id = result.knob.partition("@")[0]
        slowest_ms = max(attempt.duration_ms for attempt in (*result.attempts, result.restored))
        table.add_row(
            literal(result.knob),
            _format(knob_id, result.found),
            ", ".join(_format(knob_id, attempt.asked) for attempt in result.attempts),
            ", ".join(_format(knob_id, attempt.effective) for attempt in result.attempts),
            _format(knob_id, result.restored.effective),
            f"{slowest_ms:.1f}",
            "[green]ok[/green]" if result.failure is None else "[bold red]failed[/bold red]",
        )
    screen = console()
    screen.print(table)
    failures = [result for result in results if result.failure is not None]
    for result in failures:
        screen.print(literal(f"{result.knob}: {result.failure}"))
    places = f"{len(results)} place{'s' * (len(results) != 1)}"
    if failures:
        screen.print(literal(f"{len(failures)} of {places} did not do as they should."), style="bold red")
    else:
        screen.print(f"All {places} took both values and have their own back.")


def _format(knob_id: str, value: Value | None) -> str:
    return "-" if value is None else format_value(knob_id, value)
