from __future__ import annotations

import math
import sys
from pathlib import Path
from runpy import run_path

import pytest
from bench.load_curve import fit_shape, mean_day
from hypothesis import given
from hypothesis import strategies as st

from bayop.errors import InputError
from bayop.load.curve import SHAPES, fourier

BENCH = Path(__file__).resolve().parents[3] / "bench" / "load_curve.py"
COEFFICIENT = st.integers(-2000, 2000).map(lambda n: n / 10_000)


@given(st.lists(COEFFICIENT, min_size=6, max_size=6))
def test_a_fit_finds_the_series_that_made_the_day(pairs: list[float]) -> None:
    coefficients = (1.0, *pairs)
    day = [fourier(coefficients, (hour + 0.5) / 24) for hour in range(24)]
    assert fit_shape(day) == pytest.approx(coefficients, abs=1e-4)


def test_busy_days_count_no_more_than_quiet_ones() -> None:
    quiet = [1.0 + 0.5 * math.sin(h) for h in range(24)]
    busy = [10.0 - 5.0 * math.sin(h) for h in range(24)]
    relative = [q / (sum(quiet) / 24) / 2 + b / (sum(busy) / 24) / 2 for q, b in zip(quiet, busy, strict=True)]
    assert mean_day(quiet + busy) == pytest.approx(relative)


@pytest.mark.parametrize("hours", [0, 23, 25])
def test_a_shape_needs_whole_days(hours: int) -> None:
    with pytest.raises(InputError, match="whole days"):
        mean_day([1.0] * hours)


def test_the_built_in_coefficients_come_from_the_published_traces(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    traces = [str(data / f"trace_twitter_cluster{n}_hourly.csv") for n in (1, 2)]
    monkeypatch.setattr(sys, "argv", [str(BENCH), *traces])
    with pytest.raises(SystemExit) as exit_:
        run_path(str(BENCH), run_name="__main__")
    assert exit_.value.code == 0
    assert capsys.readouterr().out.count("as built in") == len(SHAPES)
