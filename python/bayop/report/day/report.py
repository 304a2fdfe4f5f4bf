"""Everything that a day's experiment is shown in: figures as SVG and PNG, the HTML report, and the data itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from bayop.errors import unwritable
from bayop.experiments.day.record import DayRecord
from bayop.files import make_folder
from bayop.report import DATA, REPORT
from bayop.report.day import text
from bayop.report.day.figures import draw_energy, draw_load, draw_margin, draw_power, draw_settings
from bayop.report.day.page import render_page
from bayop.report.day.search_maps import draw_first_search, draw_searches
from bayop.report.style import bayop_style
from bayop.report.svg import Drawing, save


def write_report(
    record: DayRecord, folder: Path, version: str, on_file: Callable[[str], None] = lambda _: None
) -> Path:
    """Writes the report, its figures and its data into a folder, which is made when it is missing.

    Returns:
        The HTML file.

    Raises:
        InputError: the folder can't be written.
    """
    make_folder(folder)
    try:
        (folder / DATA).write_text(json.dumps(record.to_json(), allow_nan=False), encoding="utf-8")
        with bayop_style():
            drawings, searches = list(draw_day(record)), list(draw_all_searches(record))
        svgs = {}
        for drawing in (*drawings, *searches):
            svgs[drawing.name] = save(drawing, folder)
            on_file(f"{drawing.name}.svg")
        page = folder / REPORT
        page.write_text(render_page(record, drawings, searches, svgs, version), encoding="utf-8")
    except OSError as error:
        raise unwritable(folder, error) from error
    return page


def draw_day(record: DayRecord) -> Iterator[Drawing]:
    """The figures that a reader sees first, in order."""
    hours = f"over {len(record.hourly_qps)} hours"
    names = ", ".join(run.label for run in record.runs)
    yield Drawing(
        "energy",
        "Simulated energy of the day",
        f"Bars of the energy {hours}: {names}.",
        text.about_energy(record),
        draw_energy(record),
    )
    yield Drawing(
        "power",
        "Simulated power over the day",
        f"Power {hours}, a line for each of {names}.",
        text.about_power(record),
        draw_power(record),
    )
    yield Drawing(
        "margin",
        "Margin to the SLO over the simulated day",
        f"How far latency stayed below the limit of {record.slo} {hours}, a panel for each of {names}.",
        text.about_margin(record),
        draw_margin(record),
    )
    yield Drawing(
        "load", "Load over the simulated day", f"Offered load {hours}.", text.about_load(record), draw_load(record)
    )
    yield Drawing(
        "settings",
        "What was held over the simulated day",
        f"Frequency and interrupt delay held {hours} by each controller.",
        text.about_settings(record),
        draw_settings(record),
    )
    run = record.run("bayop-linux")
    first = None if run is None else draw_first_search(record, run)
    if run is not None and first is not None:
        yield Drawing(
            "first-search",
            "The first simulated search",
            "Map of power over interrupt delay and frequency, with the SLO's boundary and the first search's path.",
            text.about_first_search(record, run),
            first,
        )


def draw_all_searches(record: DayRecord) -> Iterator[Drawing]:
    """A sheet of small maps for every configuration that searched."""
    for run in sorted(record.runs, key=lambda r: "BayOp" not in r.label):
        figure = draw_searches(record, run) if run.searches else None
        if figure is not None:
            yield Drawing(
                f"searches-{run.id}",
                f"Simulated searches of {run.label}"
                if "BayOp" in run.label
                else f"Simulated searches of BayOp, {run.label}",
                f"A map of power over interrupt delay and frequency for every hour, with the searches of {run.label}.",
                text.about_searches(record, run),
                figure,
            )
