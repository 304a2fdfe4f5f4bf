from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import pytest

from bayop.experiments.day.record import DayRecord
from bayop.experiments.day.summary import Row, summarize
from bayop.report.day.page import COLUMNS, render_page, table_cells
from bayop.report.style import COLOURS, bayop_style, new_figure
from bayop.report.svg import Drawing, svg_text


def drawing(name: str) -> Drawing:
    with bayop_style():
        figure, _ = new_figure()
    return Drawing(name, f"Title of {name}", "", f"Caption of {name}", figure)


def page_of(record: DayRecord, shown: list[str] | None = None, folded: list[str] | None = None) -> str:
    drawings, searches = ([drawing(name) for name in names or []] for names in (shown, folded))
    svgs = {d.name: svg_text(d) for d in (*drawings, *searches)}
    return render_page(record, drawings, searches, svgs, "1.2.3")


def rows_of(page: str) -> dict[str, list[str]]:
    rows = re.findall(r'data-run="([^"]+)">(.*?)</tr>', page)
    return {run: [unescape(cell) for cell in re.findall(r"<td>(.*?)</td>", row)] for run, row in rows}


ROW = Row(
    id="bayop-linux", label="BayOp on Linux", energy_j=3.6e6, saving=0.123, latency_us=250.4, hours_over=0.25,
    requests_over=5.0, requests=1000.0, trials=12, searches=2, bound_share=0.875,
)  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "cells"),
    [
        ("search", ["12.3%", "1.000", "250", "0.25", "0.50%", "12", "88%"]),
        ("default", ["", "1.000", "250", "0.25", "0.50%", "", ""]),
        ("bound", ["12.3%", "1.000", "250", "0.25", "0.50%", "", ""]),
    ],
)
def test_a_configuration_shows_the_numbers_that_it_has(kind: str, cells: list[str]) -> None:
    assert table_cells(ROW, kind) == cells
    assert len(cells) == len(COLUMNS)


def test_a_search_without_a_bound_has_no_share_of_it() -> None:
    assert table_cells(replace(ROW, bound_share=None), "search")[-1] == ""


def test_the_table_has_a_row_for_each_configuration(record: DayRecord) -> None:
    page = page_of(record)
    kinds = {run.id: run.kind for run in record.runs}
    assert rows_of(page) == {row.id: table_cells(row, kinds[row.id]) for row in summarize(record)}
    head = re.findall(r'<th scope="col">(.*?)</th>', page)
    assert head == ["", *COLUMNS]


def test_bounds_are_paler_than_what_they_bound(record: DayRecord) -> None:
    swatches = re.findall(
        r'data-run="([^"]+)"><th scope="row"><span class="swatch" style="background:(.*?)">', page_of(record)
    )
    for run, colour in swatches:
        bound = next(r.kind for r in record.runs if r.id == run) == "bound"
        assert colour == COLOURS[run] + ("66" if bound else "")


def test_the_title_says_what_was_done(record: DayRecord) -> None:
    assert "<h1>2 simulated hours of memcached under p99&lt;300us</h1>" in page_of(record)
    whole = replace(record, hourly_qps=record.hourly_qps * 12)
    assert "<h1>A simulated day of memcached under p99&lt;300us</h1>" in page_of(whole)


def test_the_numbers_that_stand_out_are_those_of_the_table(record: DayRecord) -> None:
    page = page_of(record)
    rows = {row.id: row for row in summarize(record)}
    linux, ebbrt = rows["bayop-linux"], rows["bayop-ebbrt"]
    tiles = re.findall(r"<li><b>(.*?)</b> (.*?)</li>", page)
    assert tiles[0] == (f"{linux.saving:.1%}", "less energy than Linux left alone, BayOp on Linux")
    assert tiles[1] == (f"{ebbrt.saving:.1%}", "less energy than Linux left alone, BayOp on EbbRT")
    assert linux.bound_share is not None
    assert tiles[2][0] == f"{linux.bound_share:.0%}"
    assert tiles[3] == (f"{linux.trials / linux.searches:.1f}", f"trials a search, {linux.searches} searches")


def test_more_energy_is_called_more(record: DayRecord) -> None:
    hot = tuple(
        replace(run, windows=tuple(replace(w, power_w=3 * (w.power_w or 0.0)) for w in run.windows))
        if run.id == "bayop-linux"
        else run
        for run in record.runs
    )
    assert "more energy than Linux left alone, BayOp on Linux" in page_of(replace(record, runs=hot))


def test_figures_are_shown_and_searches_folded_but_for_the_first(record: DayRecord) -> None:
    page = page_of(record, ["power", "load"], ["a", "b"])
    assert re.findall(r"<h2>(Title of .*?)</h2>", page) == ["Title of power", "Title of load"]
    assert re.findall(r"<details( open)?><summary>(.*?)</summary>", page) == [
        (" open", "Title of a"),
        ("", "Title of b"),
    ]
    assert page.count("<svg ") == 4
    assert "Caption of b" in page


def test_a_day_without_bayop_has_neither_lead_nor_tiles(record: DayRecord) -> None:
    alone = replace(record, runs=record.runs[:1])
    page = page_of(alone)
    assert "<li>" not in page
    assert list(rows_of(page)) == ["linux-default"]
    assert "BayOp 1.2.3." in page
