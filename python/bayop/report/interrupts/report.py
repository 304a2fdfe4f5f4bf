"""The report of interrupt logs: figures, and a table of what happened when."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from bayop.errors import unwritable
from bayop.interrupts.summary import Summary
from bayop.report.interrupts.figures import draw_rates, draw_spacing, draw_spacing_over_time, draw_traffic
from bayop.report.interrupts.rates import Rates, rates_of
from bayop.report.style import bayop_style
from bayop.report.svg import Drawing, save

OVER_TIME: Final = "over_time.csv"

_SUFFIXES: Final = re.compile(r"(\.(csv|gz|parquet|txt|log))+$")


def short_names(paths: Sequence[Path]) -> list[str]:
    """Names for logs without what all their file names share."""
    stems = [_SUFFIXES.sub("", path.name) or path.name for path in paths]
    if len(set(stems)) < len(stems):
        return [str(path) for path in paths]
    shared = stems[0]
    while not all(stem.startswith(shared) for stem in stems):
        shared = shared[:-1]
    # Words are kept whole.
    cut = shared.rfind("_") + 1 if len(stems) > 1 else 0
    return [stem[cut:] for stem in stems]


def write_report(summaries: Mapping[Path, Summary], folder: Path) -> list[str]:
    """Draws the figures and writes the table into a folder; returns the names of the files.

    Raises:
        InputError: the folder can't be written.
    """
    logs = dict(zip(short_names(list(summaries)), summaries.values(), strict=True))
    written = []
    try:
        with bayop_style():
            for drawing in drawings(logs):
                save(drawing, folder)
                written += [f"{drawing.name}.svg", f"{drawing.name}.png"]
        with (folder / OVER_TIME).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(_rows(logs))
    except OSError as error:
        raise unwritable(folder, error) from error
    return [*written, OVER_TIME]


def drawings(logs: Mapping[str, Summary]) -> Iterator[Drawing]:
    """The figures of some logs, by the names that they are known by."""
    yield Drawing(
        "interrupt-spacing", "Spacing of interrupts", "Share of interrupts by spacing, and cumulated, of each log.",
        "How long after the one before an interrupt came.", draw_spacing(logs),
    )  # fmt: skip
    yield Drawing(
        "interrupt-spacing-over-time", "Spacing of interrupts over time",
        "Maps of the spacing of interrupts over time, one for each log.",
        "Darker is where more of the interrupts of that moment are.", draw_spacing_over_time(logs),
    )  # fmt: skip
    yield Drawing(
        "bytes-per-interrupt", "Bytes per interrupt", "Share of interrupts with at most so many bytes, of each log.",
        "What an interrupt brings: received and sent.", draw_traffic(logs),
    )  # fmt: skip
    if any(summary.intervals for summary in logs.values()):
        yield Drawing(
            "interrupt-rates", "Power and instructions over time",
            "Power, instructions per second and utilization over time, of each log.",
            "What the samples of the counters show.", draw_rates(logs),
        )  # fmt: skip


def _rows(logs: Mapping[str, Summary]) -> Iterator[Sequence[object]]:
    yield ["log", *Rates.COLUMNS]
    for name, summary in logs.items():
        for row in rates_of(summary).rows():
            yield [name, *(None if value != value else f"{value:.9g}" for value in row)]  # noqa: PLR0124 -- NaN
