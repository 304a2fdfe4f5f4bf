from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayop.errors import InputError
from bayop.load.curve import SHAPES, LoadCurve, fourier

LOADS = st.floats(1.0, 1e7)


@pytest.mark.parametrize("name", list(SHAPES))
def test_a_built_in_day_has_24_hours_around_its_mean(name: str) -> None:
    curve = LoadCurve.built_in(name)
    assert len(curve.hourly_qps) == 24
    assert sum(curve.hourly_qps) / 24 == pytest.approx(1.0, abs=1e-3)


def test_a_curve_is_constant_within_an_hour_and_starts_again_after_its_last() -> None:
    curve = LoadCurve("two", (100.0, 300.0))
    assert [curve.at(t) for t in (0, 3599.9, 3600, 7199, 7200)] == [100, 100, 300, 300, 100]


@given(st.lists(LOADS, min_size=1, max_size=30), LOADS)
def test_scaling_keeps_the_shape_and_sets_the_peak(loads: list[float], peak: float) -> None:
    curve = LoadCurve("any", tuple(loads))
    scaled = curve.scaled_to(peak)
    assert scaled.peak_qps == pytest.approx(peak)
    assert [s / peak for s in scaled.hourly_qps] == pytest.approx([q / max(loads) for q in loads])


def test_the_first_hours_may_be_more_than_the_curve_has() -> None:
    assert LoadCurve("two", (1.0, 2.0)).first(5).hourly_qps == (1.0, 2.0, 1.0, 2.0, 1.0)
    assert LoadCurve("two", (1.0, 2.0)).first(1).hourly_qps == (1.0,)
    with pytest.raises(InputError, match="at least one hour"):
        LoadCurve("two", (1.0, 2.0)).first(0)


@pytest.mark.parametrize("loads", [(), (0.0,), (1.0, -1.0), (float("nan"),), (float("inf"),)])
def test_a_load_that_is_none_is_refused(loads: tuple[float, ...]) -> None:
    with pytest.raises(InputError):
        LoadCurve("bad", loads)


def test_a_name_that_is_neither_built_in_nor_a_file_says_what_is() -> None:
    with pytest.raises(InputError) as error:
        LoadCurve.load("facebook")
    assert error.value.hint is not None
    assert "twitter" in error.value.hint
    with pytest.raises(InputError, match="there is no load curve 'facebook'"):
        LoadCurve.built_in("facebook")


def test_a_fourier_series_sums_its_harmonics() -> None:
    assert fourier((2.0,), 0.3) == 2.0
    assert fourier((1.0, 0.5, 0.0), 0.0) == pytest.approx(1.5)
    assert fourier((1.0, 0.5, 0.0), 0.5) == pytest.approx(0.5)
    assert fourier((1.0, 0.0, 0.25), 0.25) == pytest.approx(1.25)
    assert fourier((1.0, 0.0, 0.0, 0.1, 0.0), 0.5) == pytest.approx(1.1)


def test_a_published_trace_is_a_curve(data: Path) -> None:
    curve = LoadCurve.load(str(data / "trace_twitter_cluster2_hourly.csv"))
    assert curve.name == "trace_twitter_cluster2_hourly.csv"
    assert len(curve.hourly_qps) == 168
    assert curve.hourly_qps[0] == 5028.27
