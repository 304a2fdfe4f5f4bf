"""Figures for a notebook: of a study, and of a search, each of which shows itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from bayop import (
    Choices,
    Knob,
    OwnKnobTarget,
    Space,
    TwinTarget,
    draw_search,
    draw_study,
    open_study,
    study_target,
    tune,
)
from bayop.errors import InputError
from bayop.report.style import ShownFigure
from bayop.search import Result
from bayop.testing.fakes import FakeServer

SLO = "p99<500us"


@pytest.fixture(scope="module")
def found() -> tuple[TwinTarget, Result]:
    server = TwinTarget.from_profile("linux-memcached", qps=400_000, seed=0)
    return server, tune(server, SLO, max_trials=3)


def numbers(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts if isinstance(text, Annotation)]


def test_a_study_is_drawn_with_its_default_front_and_limit() -> None:
    study = open_study("example:silo").filter(pl.col("qps_offered") == 200_000)
    figure = draw_study(study, SLO)
    assert figure.axes[0].get_xlabel() == "p99 latency (us)"
    assert numbers(figure) == ["SLO p99<500us"]


def test_a_study_of_several_workloads_is_refused_with_the_way_to_one() -> None:
    with pytest.raises(InputError, match=r"a figure must be of one workload") as caught:
        draw_study(open_study("example:silo"), SLO)
    assert "silo, 50K requests/s; silo, 200K requests/s" in caught.value.message
    assert "filter" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("study", "message", "hint"),
    [
        ("example:silo", "cannot use 'example:silo'", "open_study('example:silo') gives one"),
        (Path("a.csv"), "cannot use 'a.csv'", "open_study('a.csv') gives one"),
        (None, "cannot use 'NoneType'", "open_study gives one"),
    ],
)
def test_what_is_no_table_is_refused_with_what_gives_one(study: Any, message: str, hint: str) -> None:
    with pytest.raises(InputError, match=f"{message}: a study must be a table of trials") as caught:
        draw_study(study, SLO)
    assert caught.value.hint == hint


def test_a_figure_is_drawn_for_an_slo_that_the_target_measures(found: tuple[TwinTarget, Result]) -> None:
    server = study_target("example:memcached", os="linux", qps=600_000, seed=0)
    with pytest.raises(InputError, match=r"the target does not measure p9999_us, which the SLO names"):
        draw_search(tune(server, SLO, max_trials=2), server, "p99.99<500us")
    no_slo: Any = 500
    with pytest.raises(InputError, match="cannot use 500: an SLO must be a text"):
        draw_search(found[1], found[0], no_slo)
    with pytest.raises(InputError, match="cannot use 500: an SLO must be a text"):
        draw_study(open_study("example:silo"), no_slo)


def test_a_search_on_the_twin_is_a_path_over_its_power(found: tuple[TwinTarget, Result]) -> None:
    server, result = found
    figure = draw_search(result, server, SLO)
    assert numbers(figure) == ["1", "2", "3"]
    assert [axes.get_ylabel() for axes in figure.axes] == ["cpu.freq_mhz (MHz)", "power (W)"]


def test_drawing_changes_nothing_of_what_is_measured_next(found: tuple[TwinTarget, Result]) -> None:
    drawn, not_drawn = (TwinTarget.from_profile("linux-memcached", qps=400_000, seed=3) for _ in range(2))
    draw_search(found[1], drawn, SLO)
    assert drawn.measure() == not_drawn.measure()


def test_a_target_that_says_only_what_it_measures_has_a_path_without_a_map() -> None:
    server = OwnKnobTarget(FakeServer(), Knob("app.threads", Choices((2, 4, 8))), lambda _: None, before=4)
    result = tune(server, SLO, max_trials=3)
    figure = draw_search(result, server, SLO, knobs=("cpu.freq_mhz", "app.threads"))
    assert (len(figure.axes), numbers(figure)) == (1, ["1", "2", "3"])
    assert figure.axes[0].get_ylabel() == "app.threads"


@pytest.mark.parametrize(("knobs", "said"), [(("nic.rx_usecs", "idle.governor"), "are not"), (None, "no two such")])
def test_a_search_is_drawn_over_two_knobs_with_numbers(knobs: tuple[str, str] | None, said: str) -> None:
    governor = Knob("idle.governor", Choices(("menu", "teo")))
    server = FakeServer(Space((Knob("nic.rx_usecs", Choices((2, 50, 100))), governor)))
    with pytest.raises(InputError, match=said) as caught:
        draw_search(tune(server, SLO, max_trials=2), server, SLO, knobs=knobs)
    assert caught.value.hint == "the knobs with several numbers are nic.rx_usecs"


def test_a_search_without_a_trial_is_no_figure() -> None:
    with pytest.raises(InputError, match="the search has no trial"):
        draw_search(Result(None, (), "interrupted", None), FakeServer(), SLO)


def test_a_figure_shows_itself_as_a_picture_on_white(found: tuple[TwinTarget, Result]) -> None:
    server, result = found
    figure = draw_search(result, server, SLO)
    assert isinstance(figure, ShownFigure)
    assert figure._repr_png_().startswith(b"\x89PNG")
