from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from tests.support.tables import study_frame
from tests.unit.report.conftest import words

from bayop.analysis.summary import WorkloadSummary, summarize
from bayop.errors import InputError
from bayop.report.study.page import Provenance
from bayop.report.study.report import draw_workload, write_report
from bayop.report.svg import Drawing
from bayop.slo import Slo
from bayop.study import open_study

SLO = Slo.parse("p99<500us")


@pytest.fixture(scope="module")
def memcached(data: Path) -> pl.DataFrame:
    study = open_study(data / "study_memcached.csv")
    return study.filter(pl.col("qps_offered") == 600_000)


@pytest.fixture(scope="module")
def netpipe(data: Path) -> pl.DataFrame:
    study = open_study(data / "study_netpipe.csv")
    return study.filter(pl.col("message_bytes") == 65536)


@pytest.fixture(scope="module")
def open_loop(memcached: pl.DataFrame) -> list[Drawing]:
    return list(draw_workload(summarize(memcached, SLO, seed=0)[0]))


@pytest.fixture(scope="module")
def closed_loop(netpipe: pl.DataFrame) -> list[Drawing]:
    return list(draw_workload(summarize(netpipe, SLO, seed=0)[0]))


def kinds(drawings: Sequence[Drawing], slug: str) -> list[str]:
    return [drawing.name.removeprefix(f"{slug}-") for drawing in drawings]


def named(drawings: Sequence[Drawing], ending: str) -> Drawing:
    return next(drawing for drawing in drawings if drawing.name.endswith(ending))


def test_the_columns_of_an_open_loop_allow_these_figures(open_loop: list[Drawing]) -> None:
    assert kinds(open_loop, "memcached-600k-requests-s") == [
        "pareto", "savings", "knobs", "ebbrt-map", "ebbrt-l", "ebbrt-idle", "linux-map", "linux-l", "linux-idle",
        "request", "latency",
    ]  # fmt: skip


def test_the_columns_of_a_closed_loop_allow_these_figures(closed_loop: list[Drawing]) -> None:
    assert kinds(closed_loop, "netpipe-64-kb") == [
        "pareto", "savings", "knobs", "ebbrt-map", "ebbrt-v-energy", "ebbrt-v-round-trip", "linux-map",
        "linux-v-energy", "linux-v-round-trip", "request",
    ]  # fmt: skip


def test_no_text_leaves_its_figure(open_loop: list[Drawing], closed_loop: list[Drawing]) -> None:
    for drawing in [*open_loop, *closed_loop]:
        words(drawing.figure)
        width, height = drawing.figure.bbox.size
        for text in drawing.figure.findobj(lambda a: hasattr(a, "get_text") and a.get_visible()):
            if text.get_text().strip():  # type: ignore[attr-defined]
                box = text.get_window_extent()
                inside = box.x0 > -2 and box.y0 > -2 and box.x1 < width + 2 and box.y1 < height + 2
                assert inside or _is_off_axis(text), (drawing.name, text, box)


def _is_off_axis(text: object) -> bool:
    """Ticks beyond an axis' limits are laid out and never drawn."""
    return re.fullmatch(r"[\N{MINUS SIGN}\d.K]+", text.get_text()) is not None  # type: ignore[attr-defined]


@pytest.mark.parametrize("ending", ["pareto", "savings", "knobs", "linux-l", "linux-idle", "request"])
def test_the_default_is_marked(open_loop: list[Drawing], ending: str) -> None:
    assert "default" in words(named(open_loop, ending).figure)


def test_captions_tell_what_the_numbers_say(closed_loop: list[Drawing], open_loop: list[Drawing]) -> None:
    assert "a V" in named(closed_loop, "linux-v-energy").caption
    assert "EbbRT has no default" in named(open_loop, "savings").caption
    assert "settings that use other knobs too are not shown" in named(open_loop, "linux-map").caption


def test_a_small_sweep_makes_a_whole_report(tmp_path: Path) -> None:
    study = study_frame().with_columns(
        cut_short=pl.when(pl.col("trial") == 2).then(pl.lit("p99 above 1 ms")), seed=pl.lit(7)
    )
    summaries = summarize(study, Slo.parse("p99<300us"), seed=1)
    page = write_report(summaries, Provenance.of(study, seed=1, version="0.0"), tmp_path / "out")
    text = page.read_text(encoding="utf-8")
    assert "<h1>A study of simulated memcached</h1>" in text
    assert "1 p99 above 1 ms" in text
    assert "first seed" in text
    assert not re.search(r"(?:src|href)=\"https?:", text)
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    names = {path.stem for path in page.parent.glob("*.png")}
    assert names == {path.stem for path in page.parent.glob("*.svg")}
    assert len(names) >= 4


_DELAY, _FREQUENCY = "asked.nic.rx_usecs", "asked.cpu.freq_mhz"


@pytest.mark.parametrize("absent", [[_FREQUENCY], [_DELAY], [_DELAY, _FREQUENCY]], ids=str)
def test_a_study_without_both_knobs_has_the_figures_that_it_allows(absent: list[str], tmp_path: Path) -> None:
    study = study_frame().drop(absent)
    summaries = summarize(study, SLO, seed=0)
    assert kinds(list(draw_workload(summaries[0])), "simulated-memcached-1k-requests-s") == ["pareto", "savings"]
    assert write_report(summaries, Provenance.of(study, seed=0, version="0.0"), tmp_path).exists()


def test_a_closed_loop_has_its_v_at_one_frequency_or_with_it_left_alone() -> None:
    frame = study_frame(freqs=(2000,)).with_columns(
        qps_offered=pl.lit(None, pl.Float64), message_bytes=pl.lit(64), roundtrip_us=pl.col("p50_us"),
        energy_j=pl.col("power_w"),
    )  # fmt: skip
    for study in (frame, frame.drop(_FREQUENCY), frame.with_columns(pl.lit(None, pl.Float64).alias(_FREQUENCY))):
        drawings = list(draw_workload(summarize(study, SLO, seed=0)[0]))
        assert kinds(drawings, "simulated-memcached-64-b")[2:4] == ["linux-v-energy", "linux-v-round-trip"]


def test_the_same_study_gives_the_same_page(tmp_path: Path) -> None:
    study = study_frame()
    pages = []
    for name in ("one", "other"):
        summaries = summarize(study, SLO, seed=1)
        page = write_report(summaries, Provenance.of(study, seed=1, version="0.0"), tmp_path / name)
        pages.append(page.read_bytes())
    assert pages[0] == pages[1]


def test_a_study_without_a_default_says_so(tmp_path: Path) -> None:
    study = study_frame().filter(pl.col("trial") > 1)
    summaries = summarize(study, SLO, seed=0)
    page = write_report(summaries, Provenance.of(study, seed=0, version="0.0"), tmp_path)
    assert "There is no default to compare with" in page.read_text(encoding="utf-8")


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.touch()
    summaries: list[WorkloadSummary] = []
    with pytest.raises(InputError, match="folder"):
        write_report(summaries, Provenance.of(study_frame(), seed=0, version="0.0"), taken)
