"""The HTML report: one file that needs nothing else, in the reader's light or dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from bayop.experiments.day.record import DayRecord
from bayop.experiments.day.summary import Row, summarize
from bayop.report.day.text import about_method, headline, kept, worth
from bayop.report.document import document, drawn, section, table, tiles
from bayop.report.style import COLOURS, DEFAULT_COLOUR
from bayop.report.svg import Drawing

COLUMNS = ("saving", "energy kWh", "latency us", "over SLO h", "requests over", "trials", "share of bound")
"""What `table_cells` gives."""


def render_page(
    record: DayRecord, drawings: Sequence[Drawing], searches: Sequence[Drawing], svgs: Mapping[str, str], version: str
) -> str:
    """The whole page.

    Args:
        record: The experiment.
        drawings: Figures that are shown at once, in order.
        searches: Figures that the reader opens.
        svgs: The SVG document of every figure, by its name.
        version: BayOp's.
    """
    hours = len(record.hourly_qps)
    span = "A simulated day" if hours == 24 else f"{hours} simulated hour{'s' * (hours > 1)}"
    title = f"{span} of {record.app} under {record.slo}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="lead">{escape(headline(record))}</p>',
        *_lead(record),
        _tiles(record),
        "<h2>The result</h2>",
        _table(record),
        *(section(d, svgs[d.name]) for d in drawings),
        "<h2>Every search</h2>",
        *(_folded(d, svgs[d.name], unfold=i == 0) for i, d in enumerate(searches)),
        "<footer>",
        *(f"<p>{escape(p)}</p>" for p in about_method(record, version)),
        "</footer>",
    ]
    return document(title, parts)


def _lead(record: DayRecord) -> list[str]:
    row = _row(record, "bayop-linux")
    if row is None:
        return []
    sentences = [s for s in (worth(record), kept(record, row)) if s]
    return [f"<p>{escape(' '.join(sentences))}</p>"]


def _tiles(record: DayRecord) -> str:
    numbers = []
    for run_id in ("bayop-linux", "bayop-ebbrt"):
        row = _row(record, run_id)
        if row is not None:
            what = "less energy than Linux left alone" if row.saving >= 0 else "more energy than Linux left alone"
            numbers.append((f"{abs(row.saving):.1%}", f"{what}, {row.label}"))
    row = _row(record, "bayop-linux")
    if row is not None:
        if row.bound_share is not None:
            numbers.append((f"{row.bound_share:.0%}", "of what the best setting of every hour would have saved"))
        numbers.append((f"{row.trials / max(row.searches, 1):.1f}", f"trials a search, {row.searches} searches"))
    return tiles(numbers)


def _table(record: DayRecord) -> str:
    kinds = {run.id: run.kind for run in record.runs}
    caption = (
        "Trials are part of every number. Share of the bound: of the reduction that the best setting of every hour "
        "would have reached."
    )
    return table(("", *COLUMNS), [_table_row(row, kinds[row.id]) for row in summarize(record)], caption)


def _table_row(row: Row, kind: str) -> str:
    colour = COLOURS.get(row.id, DEFAULT_COLOUR)
    swatch = f'<span class="swatch" style="background:{colour}{"66" if kind == "bound" else ""}"></span>'
    cells = "".join(f"<td>{escape(cell)}</td>" for cell in table_cells(row, kind))
    return f'<tr class="{kind}" data-run="{row.id}"><th scope="row">{swatch}{escape(row.label)}</th>{cells}</tr>'


def table_cells(row: Row, kind: str) -> list[str]:
    """A configuration's numbers as people read them, in the order of `COLUMNS`."""
    searched = kind == "search"
    return [
        "" if kind == "default" else f"{row.saving:.1%}",
        f"{row.energy_kwh:.3f}",
        f"{row.latency_us:.0f}",
        f"{row.hours_over:.2f}",
        f"{row.over_share:.2%}",
        str(row.trials) if searched else "",
        "" if row.bound_share is None or not searched else f"{row.bound_share:.0%}",
    ]


def _folded(drawing: Drawing, svg: str, *, unfold: bool) -> str:
    return (
        f"<details{' open' if unfold else ''}><summary>{escape(drawing.title)}</summary>\n"
        f'<figure class="wide"><figcaption>{drawing.caption}</figcaption>{drawn(drawing, svg)}</figure></details>'
    )


def _row(record: DayRecord, run_id: str) -> Row | None:
    return next((row for row in summarize(record) if row.id == run_id), None)
