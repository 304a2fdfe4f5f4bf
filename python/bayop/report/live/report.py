"""The report of a live experiment: one HTML file, and its figures beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from bayop.confirm import DEFAULT
from bayop.experiments.rig.record import LiveRecord, Point
from bayop.experiments.rig.summary import SEARCH, SWEEP, compare, cpu_saving, shortfall
from bayop.optimize.base import Problem
from bayop.report.document import number, row, section, table
from bayop.report.ended import ENDED_BECAUSE
from bayop.report.live.figures import draw_map, draw_response
from bayop.report.page import busy_before, experiment_page, write_page
from bayop.report.svg import Drawing
from bayop.slo import Slo
from bayop.space import format_setting, format_value

BUSY: Final = 0.3
"""Other work that takes so much of the machine is told."""
_PRINTED_W: Final = 0.05
"""Powers that differ by less look the same: one decimal is printed."""


def write_report(record: LiveRecord, problem: Problem, folder: Path, version: str) -> Path:
    """Writes the report and its figures into a folder.

    Returns:
        The HTML file.

    Raises:
        InputError: the folder can't be written.
    """

    def draw() -> list[Drawing]:
        along, across = record.knobs
        return [
            Drawing(
                "response",
                "What the knobs do",
                f"Latency, costs of a request and power against {along}, a line for each value of {across}.",
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

    return write_page(folder, draw, lambda drawings, svgs: render(record, problem, drawings, svgs, version))


def render(
    record: LiveRecord, problem: Problem, drawings: Sequence[Drawing], svgs: Mapping[str, str], version: str
) -> str:
    """The whole page."""
    title = f"{record.application}, live, under {record.slo}"
    parts = [
        "<h2>The result</h2>",
        _table(record),
        *(section(drawing, svgs[drawing.name]) for drawing in drawings),
    ]
    return experiment_page(
        title,
        headline(record, problem),
        caveats=caveats(record),
        numbers=_tiles(record, problem),
        parts=parts,
        about_method=about_method(record, version),
    )


def headline(record: LiveRecord, problem: Problem) -> str:
    """What came out: what is saved against the default, in power and processor time, and what the sweep has beyond."""
    if record.held is None:
        return f"No setting is trusted to meet {record.slo}; the machine's own settings are back."
    found = f"After {len(record.search)} trials the search ended on {format_setting(record.held)}."
    comparison, more = compare(record, problem), shortfall(record, problem)
    if comparison is None or comparison.saving is None:
        return found
    saving, same_w = comparison.saving, one_power_w(record)
    if record.objective == "power" and same_w is not None:
        return f"Nothing is saved: every setting, and the default, takes {same_w:.1f} W {_what(record)}. {found}"
    said = (
        saving.describe(unit=f"W {_what(record)}")
        if record.objective == "power"
        else saving.describe(of=f" {_what(record)}")
    )
    worth = {
        "not significant": f"No significant saving against the default: it {said}",
        "breaks": f"It breaks {record.slo} when measured again; against the default it {said}",
    }.get(comparison.verdict, f"Against the default it {said}")
    cpu = cpu_saving(record)
    sentences = [
        worth if cpu is None else f"{worth}; it {cpu.describe(of=' of the processor time per request')}",
        found,
    ]
    if more is not None:
        worse = f"{more:.1%} more" if more >= 0 else f"{-more:.1%} less"
        sentences.append(
            f"In the same turns it takes {worse} {_what(record)} than the best of {len(record.sweep)} swept settings"
        )
    return " ".join(s if s.endswith(".") else f"{s}." for s in sentences)


def one_power_w(record: LiveRecord) -> float | None:
    """What every window drew, where they all drew the same; None where they did not."""
    points = [record.default, *record.sweep, *record.search, *(p for some in record.again.values() for p in some)]
    powers_w = [p.quantities["power_w"] for p in points if "power_w" in p.quantities]
    return powers_w[0] if powers_w and max(powers_w) - min(powers_w) < _PRINTED_W else None


def caveats(record: LiveRecord) -> list[str]:
    """What a reader has to know before the numbers."""
    said = []
    if record.estimated:
        said.append(
            "No meter measures power here: every power is estimated from the processor time of the service and of the "
            "polls of its device (20 W idle, 60 W with every processor busy), whatever else runs on this machine. "
            "Latency, softirqs and processor time are measured."
        )
    if record.caveat is not None:
        said.append(record.caveat)
    if record.busy_before is not None and record.busy_before > BUSY:
        said.append(
            f"{busy_before(record.busy_before)} No number counts that work but the softirqs, which are those of all; "
            "it still takes turns and caches from the service, and widens the intervals."
        )
    return [*said, *(f"{doubt[0].upper()}{doubt[1:]}." for doubt in record.doubts)]


def about_response() -> str:
    """What the first figure shows, and why."""
    return (
        "While an interrupt is deferred, packets wait for the next timer: the latency grows with the delay, and one "
        "poll serves more packets, so that a request costs the service less. Dotted: the default. The service's "
        "processor time is its own; softirqs are those of its whole machine, with the clients' where they run there."
    )


def about_map(record: LiveRecord) -> str:
    """What the second figure shows."""
    why = ENDED_BECAUSE[record.stopped] if record.stopped else "it was stopped"
    same_w = one_power_w(record)
    alike = "" if same_w is None else f" All dots are alike: every setting takes {same_w:.1f} W."
    return (
        "Every dot is a setting of the sweep; a cross marks one that misses the SLO. The numbers are the search's "
        f"trials in order. It knows nothing of the sweep, and has ended: {why}.{alike}"
    )


def about_method(record: LiveRecord, version: str) -> str:
    """How the numbers were made."""
    return (
        f"bayop {version}, {record.machine}. Open-loop load of {record.qps:.0f} requests/s on {record.application} "
        f"across {record.link}; seed {record.seed}. Default and winners were measured again in turns, "
        f"{len(record.again.get(DEFAULT, ()))} times. {record.duration_s:.0f} s in all. The numbers are in data.json."
    )


def _what(record: LiveRecord) -> str:
    if record.objective == "power":
        return "estimated power" if record.estimated else "power"
    return f"of {record.objective}"


def _tiles(record: LiveRecord, problem: Problem) -> list[tuple[str, str]]:
    numbers = [(str(len(record.search)), "trials of the search"), (str(len(record.sweep)), "settings in the sweep")]
    comparison, cpu, more = compare(record, problem), cpu_saving(record), shortfall(record, problem)
    if more is not None:
        numbers.insert(0, (f"{more:+.1%}", f"{_what(record)} of the search's setting against the sweep's best"))
    if cpu is not None:
        numbers.insert(0, (f"{-cpu.share:+.1%}", "processor time per request against the default"))
    if comparison is not None and comparison.saving is not None:
        share = -comparison.saving.share
        known = "" if comparison.saving.significant else ", not significant"
        numbers.insert(0, (f"{share:+.1%}", f"{_what(record)} against the default{known}"))
    return numbers


def _table(record: LiveRecord) -> str:
    slo = Slo.parse(record.slo)
    power = "power W, estimated" if record.estimated else "power W"
    heads = ("", *record.knobs, f"{slo.quantity.removesuffix('_us')} us", "CPU us per request", power)
    rows = [("default, before the sweep", record.default)]
    titles = {DEFAULT: "default", SEARCH: "found by the search", SWEEP: "best of the sweep"}
    rows += [
        (titles[name], whole[(len(whole) - 1) // 2])
        for name in titles
        if (whole := sorted(_whole(record.again.get(name, ())), key=lambda p: p.quantities["power_w"]))
    ]
    caption = "One window each; of those in turns the one of median power."
    return table(heads, [row(name, _cells(point, slo, record.knobs)) for name, point in rows], caption)


def _whole(points: Sequence[Point]) -> list[Point]:
    return [point for point in points if point.cut_short is None]


def _cells(point: Point, slo: Slo, knobs: Sequence[str]) -> list[str]:
    seen = point.quantities
    return [
        *(format_value(knob_id, point.setting.get(knob_id, "auto")) for knob_id in knobs),
        number(seen.get(slo.quantity), ".0f"),
        number(point.cpu_us, ".1f"),
        number(seen.get("power_w"), ".1f"),
    ]
