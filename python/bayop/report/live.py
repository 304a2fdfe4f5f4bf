"""The report of a live experiment: one HTML file, and its figures beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Final

from bayop.live.experiment import REPEATS, shortfall
from bayop.live.record import LiveRecord, Point
from bayop.optimize.base import Problem
from bayop.report.document import document, section, tiles
from bayop.report.files import unwritable
from bayop.report.live_figures import draw_map, draw_response
from bayop.report.style import bayop_style
from bayop.report.svg import Drawing, save
from bayop.slo import Slo
from bayop.space import format_setting, format_value

REPORT: Final = "report.html"
BUSY: Final = 0.3
"""A machine that is so busy with other work says little about what a setting saves."""


def write_report(record: LiveRecord, problem: Problem, folder: Path, version: str) -> Path:
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
                    "response",
                    "What deferral does",
                    "Latency, costs of a request and power against the timeout, a line for each number of polls.",
                    about_response(),
                    draw_response(record),
                ),
                Drawing(
                    "map",
                    "The sweep and the search",
                    "Map of power over the two knobs, with the settings that miss the SLO and the search's path.",
                    about_map(record),
                    draw_map(record),
                ),
            ]
        svgs = {drawing.name: save(drawing, folder) for drawing in drawings}
        page = folder / REPORT
        page.write_text(render(record, problem, drawings, svgs, version), encoding="utf-8")
    except OSError as error:
        raise unwritable(folder, error) from error
    return page


def render(record: LiveRecord, problem: Problem, drawings: list[Drawing], svgs: Mapping[str, str], version: str) -> str:
    """The whole page."""
    title = f"memcached, live, under {record.slo}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="lead">{escape(headline(record, problem))}</p>',
        *(f"<p>{escape(sentence)}</p>" for sentence in caveats(record)),
        tiles(_tiles(record, problem)),
        "<h2>The result</h2>",
        _table(record),
        *(section(drawing, svgs[drawing.name]) for drawing in drawings),
        f"<footer><p>{escape(about_method(record, version))}</p></footer>",
    ]
    return document(title, parts)


def headline(record: LiveRecord, problem: Problem) -> str:
    """What came out, in a sentence or two."""
    if record.held is None:
        return f"No setting is trusted to meet {record.slo}; the machine's own settings are back."
    more = shortfall(record, problem)
    found = f"After {len(record.search)} trials the search held {format_setting(record.held)}."
    if more is None:
        return found
    worse = f"{more:.1%} more" if more >= 0 else f"{-more:.1%} less"
    beside = f"Measured again beside the best of {len(record.sweep)} swept settings"
    return f"{found} {beside}, it takes {worse} {_what(record)}."


def caveats(record: LiveRecord) -> list[str]:
    """What a reader has to know before the numbers."""
    said = []
    if record.estimated:
        said.append(
            "No meter measures power here: every power is estimated from this machine's utilization (20 W idle, 60 W "
            "busy). Latency, softirqs and processor time are measured."
        )
    if record.busy_before is not None and record.busy_before > BUSY:
        said.append(
            f"This machine was {record.busy_before:.0%} busy with other work before the load began. Its utilization, "
            "and with it the estimated power, then says little about the settings: run this on an idle machine."
        )
    return said


def about_response() -> str:
    """What the first figure shows, and why."""
    return (
        "While an interrupt is deferred, packets wait for the next timer: the latency grows with the timeout, and one "
        "poll serves more packets, so that a request costs the service less. Dotted: the default. "
        "memcached's processor time is its own; softirqs and power are those of this whole machine, clients and all."
    )


def about_map(record: LiveRecord) -> str:
    """What the second figure shows."""
    why = _STOPPED.get(record.stopped or "", "it was ended")
    return (
        "Every dot is a setting of the sweep; a cross marks one that misses the SLO. The numbers are the search's "
        "trials in order, each setting with the first that tried it. It knows nothing of the sweep, and ended because "
        f"{why}."
    )


def about_method(record: LiveRecord, version: str) -> str:
    """How the numbers were made."""
    return (
        f"bayop {version}, {record.machine}. Open-loop load of {record.qps:.0f} requests/s on memcached (one thread) "
        f"across a veth pair; seed {record.seed}. The two winners were measured again {REPEATS} times, in turns. "
        f"{record.duration_s:.0f} s in all. The numbers are in data.json."
    )


_STOPPED: Final[Mapping[str, str]] = {
    "converged": "no safe setting promised an improvement worth a trial",
    "infeasible": "no setting was believed to meet the SLO",
    "exhausted": "every setting was tried",
    "budget": "the trial budget was used up",
}


def _what(record: LiveRecord) -> str:
    if record.objective == "power":
        return "estimated power" if record.estimated else "power"
    return f"of {record.objective}"


def _tiles(record: LiveRecord, problem: Problem) -> list[tuple[str, str]]:
    numbers = [(str(len(record.search)), "trials of the search"), (str(len(record.sweep)), "settings in the sweep")]
    more = shortfall(record, problem)
    if more is not None:
        numbers.insert(0, (f"{more:+.1%}", f"{_what(record)} of the search's setting against the sweep's best"))
    return numbers


def _table(record: LiveRecord) -> str:
    slo = Slo.parse(record.slo)
    power = "power W, estimated" if record.estimated else "power W"
    heads = ("", *record.knobs, f"{slo.quantity.removesuffix('_us')} us", "CPU us per request", power)
    rows = [("default", record.default)]
    titles = {"search": "found by the search", "sweep": "best of the sweep"}
    for name, points in record.again.items():
        rows += [(f"{titles[name]}, {i}", point) for i, point in enumerate(points, 1)]
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    body = "\n".join(_row(name, point, slo, record.knobs) for name, point in rows)
    caption = '<caption class="soft">One window each; the winners in turns.</caption>'
    return f'<div class="table"><table>{caption}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'


def _row(name: str, point: Point, slo: Slo, knobs: Sequence[str]) -> str:
    seen = point.quantities
    cells = [
        *(format_value(knob_id, point.setting.get(knob_id, "auto")) for knob_id in knobs),
        _number(seen.get(slo.quantity), ".0f"),
        _number(point.per_request("service_cpu"), ".1f"),
        _number(seen.get("power_w"), ".1f"),
    ]
    return f'<tr><th scope="row">{escape(name)}</th>{"".join(f"<td>{escape(c)}</td>" for c in cells)}</tr>'


def _number(value: float | None, how: str) -> str:
    return "-" if value is None else format(value, how)
