from __future__ import annotations

import re
from html import unescape

import polars as pl
import pytest
from tests.support.tables import study_frame

from bayop.analysis.summary import WorkloadSummary, summarize
from bayop.report.study.page import Provenance, render_page
from bayop.report.study.words import percent
from bayop.report.style import bayop_style, new_figure
from bayop.report.svg import Drawing, svg_text
from bayop.slo import Slo

SLO = Slo.parse("p99<300us")


@pytest.fixture(scope="module")
def study() -> pl.DataFrame:
    """Three repeats of a sweep; one trial was cut short and one is suspect."""
    frames = [
        study_frame(qps=4e5).with_columns(
            pl.col("trial") + 100 * i, pl.col("power_w") * (1 + 0.01 * (i - 1)), seed=pl.lit(7 + i)
        )
        for i in range(3)
    ]
    frame = pl.concat(frames)
    return frame.with_columns(
        cut_short=pl.when(pl.col("trial") == 3).then(pl.lit("p99 < 1 ms")),
        suspect=pl.when(pl.col("trial") == 4).then(pl.lit("mislabelled")),
    )


@pytest.fixture(scope="module")
def summary(study: pl.DataFrame) -> WorkloadSummary:
    (found,) = summarize(study, SLO, seed=0)
    return found


@pytest.fixture(scope="module")
def page(study: pl.DataFrame, summary: WorkloadSummary) -> str:
    with bayop_style():
        figure, _ = new_figure()
    drawing = Drawing("one", "A figure", "", "Its caption", figure)
    provenance = Provenance.of(study, seed=5, version="1.2.3")
    return render_page([summary], [[drawing]], {"one": svg_text(drawing)}, provenance)


def tables(page: str) -> list[list[list[str]]]:
    """The cells of every table, row by row."""
    found = []
    for table in re.findall(r"<table>(.*?)</table>", page, re.DOTALL):
        rows = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
        found.append([[unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in rows])
    return found


def test_provenance_is_a_row_for_each_origin_with_its_ranges(study: pl.DataFrame) -> None:
    provenance = Provenance.of(study, seed=5, version="1.2.3")
    (row,) = provenance.origins.rows(named=True)
    assert row == {
        "study": "sweep", "target": "twin", "machine": "fake", "os": "linux", "app": "memcached", "trials": 30,
        "first seed": 7, "last seed": 9,
    }  # fmt: skip
    assert provenance.left_out == {"mislabelled": 1, "p99 < 1 ms": 1}
    two = pl.concat([study, study.with_columns(study=pl.lit("another"))])
    assert Provenance.of(two, seed=5, version="1.2.3").origins["study"].to_list() == ["another", "sweep"]


def test_the_savings_are_those_of_the_analysis(page: str, summary: WorkloadSummary) -> None:
    head, *rows = tables(page)[0]
    assert head == ["", "saving", "system", "under", "setting", "cost", "default", "latency", "rivals"]
    assert len(rows) == len(summary.savings) == 2
    for row, saving in zip(rows, summary.savings, strict=True):
        assert row[0] == "simulated memcached, 400K requests/s"
        assert row[1].startswith(percent(saving.reductions["power_w"].value) + " (")
        assert row[2:4] == ["Linux", saving.under]
        assert row[5:7] == [f"{saving.cell['power_w']:.4g} W", f"{saving.default['power_w']:.4g} W"]
        assert row[7:] == [f"{saving.cell['p99_us']:.4g} us", str(saving.cell["rivals"])]


def test_the_numbers_that_stand_out_are_under_the_slo(page: str, summary: WorkloadSummary) -> None:
    best = summary.savings[-1].reductions["power_w"].value
    assert re.findall(r"<li><b>(.*?)</b> (.*?)</li>", page) == [
        (percent(best), "less power, simulated memcached, 400K requests/s, Linux, p99&lt;300us")
    ]


def test_the_front_is_folded_with_its_certainty(page: str, summary: WorkloadSummary) -> None:
    assert "<details><summary>The front in numbers: simulated memcached, 400K requests/s</summary>" in page
    head, *rows = tables(page)[1]
    assert head[3:] == ["p99 latency us", "power", "on the front"]
    listed = summary.front.filter(pl.col("front") | (pl.col("on_front") >= 0.05))
    assert len(rows) == listed.height > 2
    assert [row[2] for row in rows] == [str(n) for n in listed["repeats"]]
    assert all(re.fullmatch(r"[\d.]+ ± [\d.e-]+", row[4]) for row in rows)
    assert all(row[5].endswith(" %") for row in rows)


def test_without_repeats_the_noise_is_unknown() -> None:
    study = study_frame(qps=4e5)
    page = render_page(summarize(study, SLO, seed=0), [[]], {}, Provenance.of(study, seed=5, version="0"))
    _, *rows = tables(page)[1]
    assert {row[5] for row in rows} == {"noise unknown"}
    assert not any("±" in row[4] for row in rows)


def test_without_repeats_no_interval_is_claimed(page: str) -> None:
    study = study_frame(qps=4e5)
    unsure = render_page(summarize(study, SLO, seed=0), [[]], {}, Provenance.of(study, seed=5, version="0"))
    assert "against the default; without repeats there are no confidence intervals." in unsure
    assert {row[8] for row in tables(unsure)[0][1:]} == {"noise unknown"}
    assert "against the default, with 95 % confidence intervals." in page


def test_machines_are_told_apart_and_the_best_needs_no_default() -> None:
    frames = [study_frame(study=m, qps=4e5).with_columns(machine=pl.lit(m)) for m in ("box", "box2", "box3")]
    study = pl.concat([*frames[:2], frames[2].filter(pl.col("trial") > 1)])
    page = render_page(summarize(study, SLO, seed=0), [[]], {}, Provenance.of(study, seed=5, version="0"))
    _, *rows = tables(page)[0]
    assert {row[2] for row in rows} == {"box", "box2", "box3"}
    assert [row[1:4] for row in rows if row[2] == "box3"] == [["no default", "box3", "p99<300us"]]
    tiles = re.findall(r"<li><b>.*?</b> (.*?)</li>", page)
    assert [tile.split(", ")[-2] for tile in tiles] == ["box", "box2"]


def test_what_was_left_out_is_said(page: str) -> None:
    assert "<p>Trials left out: 1 mislabelled; 1 p99 &lt; 1 ms.</p>" in page
    study = study_frame()
    clean = render_page(summarize(study, SLO, seed=0), [[]], {}, Provenance.of(study, seed=5, version="0"))
    assert "<p>Every trial counts.</p>" in clean


def test_columns_that_nobody_told_are_left_out_of_the_origins(study: pl.DataFrame, summary: WorkloadSummary) -> None:
    untold = study.with_columns(vantage=pl.lit(None, pl.String))
    page = render_page([summary], [[]], {}, Provenance.of(untold, seed=5, version="0"))
    head, row = tables(page)[-1]
    assert "vantage" not in head
    assert dict(zip(head, row, strict=True))["trials"] == "30"


def test_titles_figures_and_method_are_there(page: str) -> None:
    assert "<h1>A study of simulated memcached</h1>" in page
    assert "<h2>A figure</h2>" in page
    assert "Seed of the draws: 5. BayOp 1.2.3." in page


def test_names_are_no_markup(study: pl.DataFrame) -> None:
    sly = study.with_columns(app=pl.lit("<script>"))
    page = render_page(summarize(sly, SLO, seed=0), [[]], {}, Provenance.of(sly, seed=5, version="0"))
    assert "<script>" not in page
    assert "<h1>A study of simulated &lt;script&gt;</h1>" in page
