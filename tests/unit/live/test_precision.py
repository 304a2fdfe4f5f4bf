from __future__ import annotations

import math

import pytest

from bayop.errors import InputError
from bayop.live.precision import Precision, pool
from bayop.measurement import Measurement

PRECISION = Precision("p99_us", interval=0.1, most_windows=3)


def window(p99_us: float, sd: float | None, **more: float) -> Measurement:
    return Measurement({"p99_us": p99_us, **more}, {} if sd is None else {"p99_us": sd})


def test_wide_intervals_are_worth_another_window_up_to_the_limit() -> None:
    wide, narrow = window(100.0, 0.2), window(100.0, 0.04)
    assert PRECISION.wants_more([wide])
    assert PRECISION.wants_more([wide, wide])
    assert not PRECISION.wants_more([wide, wide, wide])
    assert not PRECISION.wants_more([narrow])


def test_a_source_that_does_not_know_its_errors_has_one_window() -> None:
    assert not PRECISION.wants_more([window(100.0, None)])


def test_pooled_windows_have_the_mean_and_the_error_of_the_mean() -> None:
    pooled = pool([window(100.0, 0.1, energy_j=10.0, power_w=5.0), window(300.0, 0.1, energy_j=14.0, power_w=7.0)])
    assert pooled.quantities == {"p99_us": 200.0, "energy_j": 24.0, "power_w": 6.0}
    assert pooled.relative_sd == {"p99_us": pytest.approx(math.hypot(10.0, 30.0) / 2 / 200.0)}
    n = 16
    assert pool([window(100.0, 0.2)] * n).relative_sd["p99_us"] == pytest.approx(0.2 / math.sqrt(n))


def test_what_one_window_misses_is_missing() -> None:
    pooled = pool([window(100.0, 0.1, utilization=0.5), window(100.0, None)])
    assert pooled.quantities == {"p99_us": 100.0}
    assert pooled.relative_sd == {}


def test_one_window_stays_as_it_is() -> None:
    alone = window(10.0, 0.1, power_w=90.0)
    assert pool([alone]) is alone


@pytest.mark.parametrize(("interval", "most"), [(0.0, 3), (math.inf, 3), (0.1, 0)])
def test_a_precision_that_is_none_is_refused(interval: float, most: int) -> None:
    with pytest.raises(InputError):
        Precision("p99_us", interval, most)
