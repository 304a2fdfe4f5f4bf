"""The page of a day on the rig, and its figures beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from bayop.experiments.rig.day.record import RigDay, Turn
from bayop.experiments.rig.day.summary import (
    Work,
    cpu_saving,
    held_share,
    last_held,
    polls_saving,
    power_saving,
    turns_of,
    work_of,
)
from bayop.report.document import number, row, section, table
from bayop.report.page import busy_before, experiment_page, write_page
from bayop.report.rig_day.figures import LABELS, draw_hours, draw_settings
from bayop.report.svg import Drawing
from bayop.slo import Slo
from bayop.space import format_setting

_BUSY: Final = 0.1
"""A machine that is so busy does other work than ours."""


def write_report(day: RigDay, folder: Path, version: str) -> Path:
    """Writes the report and its figures into a folder.

    Returns:
        The HTML file.

    Raises:
        InputError: the folder can't be written.
    """

    def draw() -> list[Drawing]:
        return [
            Drawing(
                "hours",
                "Hour by hour",
                "Load, latency, processor time and polls of a request, and power where it was measured, in each "
                "hour, for the default and for BayOp.",
                "Each hour has a turn of the default and one of BayOp, in an order drawn by lot. Red: the SLO's "
                "limit. The processor time is memcached's own; polls are those of the whole machine.",
                draw_hours(day),
            ),
            Drawing(
                "settings",
                "What BayOp had in effect",
                "The value of each knob over the day while BayOp had its turns.",
                "Faint: trials. In the gaps the default has its turn, or a search begins with a window of it.",
                draw_settings(day),
            ),
        ]

    return write_page(folder, draw, lambda drawings, svgs: render(day, drawings, svgs, version))


def render(day: RigDay, drawings: Sequence[Drawing], svgs: Mapping[str, str], version: str) -> str:
    """The whole page."""
    title = f"A day of memcached, live, under {day.slo}"
    parts = [
        *(section(drawing, svgs[drawing.name]) for drawing in drawings),
        "<h2>The turns</h2>",
        _table(day),
    ]
    return experiment_page(
        title,
        headline(day),
        caveats=caveats(day),
        numbers=_tiles(day),
        parts=parts,
        about_method=_about_method(day, version),
    )


def headline(day: RigDay) -> str:
    """What came out: what is saved of the service's work for a request, and what clients saw of it."""
    cpu, polls = cpu_saving(day), polls_saving(day)
    if cpu is None or polls is None:
        return "No hour was played to its end."
    worth = cpu.describe(of=" of memcached's processor time per request")
    said = f"BayOp {worth}" if cpu.significant else f"No significant saving: BayOp {worth}"
    default, bayop = (work_of(turns_of(day, who)).over_share for who in LABELS)
    limit, power = Slo.parse(day.slo), power_saving(day)
    drawn = "" if power is None else f", and {power.describe(of=' of the power')}"
    return (
        f"{said}, and {polls.describe(of=' of the polls')}{drawn}; searches and their trials included. "
        f"{bayop:.2%} of its requests were over {limit.limit_us:.0f} us ({default:.2%} with the default; the SLO "
        f"allows {100.0 * (1.0 - limit.quantile):.3g}%)."
    )


def caveats(day: RigDay) -> list[str]:
    """What a reader has to know before the numbers."""
    said = [day.caveat] if day.caveat else []
    if day.busy_before is not None and day.busy_before > _BUSY:
        said.append(f"{busy_before(day.busy_before)} Both turns of an hour have it alike, and it widens the interval.")
    if day.restored is False:
        said.append("In the end the device did not have all of its own settings back.")
    return said


def _tiles(day: RigDay) -> list[tuple[str, str]]:
    numbers = []
    savings = {
        "processor time per request": cpu_saving(day),
        "polls per request": polls_saving(day),
        "power": power_saving(day),
    }
    for what, saving in savings.items():
        if saving is not None:
            known = "" if saving.significant else ", not significant"
            numbers.append((f"{-saving.share:+.1%}", f"{what} against the default{known}"))
    over = work_of(turns_of(day, "bayop")).over_share
    numbers.append((f"{over:.2%}", "of BayOp's requests over the SLO's limit"))
    numbers.append((str(day.trials), f"trials of {day.searches} searches"))
    numbers.append((f"{held_share(day):.0%}", "of BayOp's time with a setting held"))
    return numbers


def _table(day: RigDay) -> str:
    """A row for each turn; without a column of power where nothing measured it."""
    columns: dict[str, Callable[[Turn, Work], str]] = {
        "requests/s": lambda turn, _: f"{turn.qps:.0f}",
        f"{Slo.parse(day.slo).quantity.removesuffix('_us')} us": lambda turn, _: number(turn.latency_us, ".0f"),
        "over the limit": lambda _, work: f"{work.over_share:.2%}",
        "CPU us per request": lambda _, work: number(work.cpu_us, ".1f"),
        "polls per request": lambda _, work: number(work.polls, ".2f"),
    }
    if any(turn.energy_j is not None for turn in day.turns):
        columns["W"] = lambda _, work: number(work.power_w, ".1f")
    columns["held at its end"] = lambda turn, _: "-" if (held := last_held(day, turn)) is None else format_setting(held)
    rows = []
    for turn in day.turns:
        work = work_of([turn])
        rows.append(row(f"{turn.hour}, {LABELS[turn.who]}", [cell(turn, work) for cell in columns.values()]))
    return table(("hour", *columns), rows, "In the order in which they were played.", wraps=True)


def _about_method(day: RigDay, version: str) -> str:
    brain = day.brain_cpu_s / day.duration_s if day.duration_s else 0.0
    return (
        f"bayop {version}, {day.machine}. {len(day.hourly_qps)} hours of {day.hour_s:.0f} s, the load's shape from "
        f"{day.curve}; seed {day.seed}. bayop run minimised {day.objective}, and took {brain:.0%} of a processor, "
        "its sources of latency included. Intervals are by the signed ranks of the hours' differences. The numbers are "
        "in data.json."
    )
