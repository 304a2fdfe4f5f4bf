"""`bayop history --of saving`: what was saved, day by day and in all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bayop.cli.terminal.intervals import format_interval
from bayop.cli.terminal.output import console, literal, new_table, print_json
from bayop.daemon.savings.account import days, saved
from bayop.daemon.savings.worth import Worth
from bayop.state.held import read_held_times

_COLUMNS: Final = ("day", "service", "held", "switchbacks", "default", "saved", "energy", "cost", "carbon")


def show(state: Path, worths: Mapping[str, Worth], *, service: str | None, last: int, json: bool) -> None:
    """Prints what services have saved, the last days of each, oldest first, and all days together.

    Args:
        state: What is remembered.
        worths: What a kWh is worth, by services.
        service: Whose savings; None for all.
        last: How many days of each at most.
        json: Whether programs read it.

    Raises:
        InputError: the state can't be read.
    """
    rows = list(_rows(state, worths, service, last))
    if json:
        for row in rows:
            print_json(row)
        return
    if not rows:
        console().print("There is no saving yet: nothing was held.")
        return
    table = new_table()
    for column in _COLUMNS:
        table.add_column(column, justify="left" if column in _COLUMNS[:2] else "right", overflow="fold")
    for row in rows:
        table.add_row(*(literal(cell) for cell in _cells(row)))
    console().print(table)


def _rows(state: Path, worths: Mapping[str, Worth], service: str | None, last: int) -> Iterator[dict[str, Any]]:
    for name, time in read_held_times(state, service).items():
        spans = list(days(time))
        whole = ("all", spans[0][0], spans[-1][1])
        for of, start_s, end_s in (*(("day", *span) for span in spans[-last:]), whole):
            event = saved(time, worths.get(name, Worth()), start_s, end_s).event()
            yield {"event": "saving", "service": name, "of": of, "start_s": start_s, "end_s": end_s, **event}


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    day = "all" if row["of"] == "all" else datetime.fromtimestamp(row["start_s"], UTC).strftime("%Y-%m-%d")
    default = "" if row["default_w"] is None else f"{row['default_w']:.1f} W"
    return (
        day,
        row["service"],
        f"{row['held_s'] / 3600:.1f} h",
        str(row["switchbacks"]),
        default,
        format_interval(row["power_w"], "W"),
        format_interval(row["energy_kwh"], "kWh"),
        format_interval(row["cost"], row["currency"] or ""),
        format_interval(row["carbon_g"], "g"),
    )
