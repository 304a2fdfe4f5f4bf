"""The page of a day on the rig, and its figures beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Final

from bayop.errors import unwritable
from bayop.experiments.rig.day.record import RigDay, Turn
from bayop.experiments.rig.day.summary import (
    cpu_saving,
    held_share,
    last_held,
    polls_saving,
    power_saving,
    turns_of,
    work_of,
)
from bayop.report.document import document, row, section, table, tiles
from bayop.report.rig_day.figures import LABELS, draw_hours, draw_settings
from bayop.report.style import bayop_style
from bayop.report.svg import Drawing, save
from bayop.slo import Slo
from bayop.space import format_setting

REPORT: Final = "report.html"
_BUSY: Final = 0.1
"""A machine that is so busy does other work than ours."""

COLUMNS: Final = (
    "requests/s",
    "us",
    "over the limit",
    "CPU us per request",
    "polls per request",
    "W",
    "held at its end",
)


def write_report(day: RigDay, folder: Path, version: str) -> Path:
    """Writes the report and its figures into a folder.

    Returns:
        The HTML file.

    Raises:
        InputError: the folder can't be written.
    """
    try:
        with bayop_style():
            drawings = [
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
        svgs = {drawing.name: save(drawing, folder) for drawing in drawings}
        page = folder / REPORT
        page.write_text(render(day, drawings, svgs, version), encoding="utf-8")
    except OSError as error:
        raise unwritable(folder, error, place="--out") from error
    return page


def render(day: RigDay, drawings: Sequence[Drawing], svgs: Mapping[str, str], version: str) -> str:
    """The whole page."""
    title = f"A day of memcached, live, under {day.slo}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="lead">{escape(headline(day))}</p>',
        *(f"<p>{escape(sentence)}</p>" for sentence in caveats(day)),
        tiles(_tiles(day)),
        *(section(drawing, svgs[drawing.name]) for drawing in drawings),
        "<h2>The turns</h2>",
        _table(day),
        f"<footer><p>{escape(_about_method(day, version))}</p></footer>",
    ]
    return document(title, parts)


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
        said.append(
            f"This machine was {day.busy_before:.0%} busy with other work before the load began. Both turns of an "
            "hour have it alike, and it widens the interval."
        )
    if day.restored is False:
        said.append("In the end the device did not have all of its own settings back.")
    return said


def table_cells(day: RigDay, turn: Turn) -> list[str]:
    """What a turn has shown, as `COLUMNS` names it."""
    work = work_of([turn])
    held = last_held(day, turn)
    return [
        f"{turn.qps:.0f}",
        "-" if turn.latency_us is None else f"{turn.latency_us:.0f}",
        f"{work.over_share:.2%}",
        "-" if work.cpu_us is None else f"{work.cpu_us:.1f}",
        "-" if work.polls is None else f"{work.polls:.2f}",
        "-" if work.power_w is None else f"{work.power_w:.1f}",
        "-" if held is None else format_setting(held),
    ]


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
    quantile = Slo.parse(day.slo).quantity.removesuffix("_us")
    heads = ("hour", *(f"{quantile} {name}" if name == "us" else name for name in COLUMNS))
    rows = [row(f"{turn.hour}, {LABELS[turn.who]}", table_cells(day, turn)) for turn in day.turns]
    return table(heads, rows, "In the order in which they were played.")


def _about_method(day: RigDay, version: str) -> str:
    brain = day.brain_cpu_s / day.duration_s if day.duration_s else 0.0
    return (
        f"bayop {version}, {day.machine}. {len(day.hourly_qps)} hours of {day.hour_s:.0f} s, the load's shape from "
        f"{day.curve}; seed {day.seed}. bayop run minimised {day.objective}, and took {brain:.0%} of a processor, "
        "its sources of latency included. Intervals are by the signed ranks of the hours' differences. The numbers are "
        "in data.json."
    )
