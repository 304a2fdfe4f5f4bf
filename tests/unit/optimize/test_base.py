"""What an optimizer is told; `tests/contract/test_optimizers.py` holds every optimizer to the rest of the contract."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.optimize.base import Observation
from bayop.slo import Slo

SLO = Slo.parse("p99<200us")


def observed(p99_us: float, cut_short: str | None = None) -> Observation:
    return Observation({}, Measurement({"p50_us": 1000.0, "p99_us": p99_us}, cut_short=cut_short), 1000.0)


@given(st.floats(1.0, 400.0))
def test_a_window_meets_the_slo_below_its_limit_at_its_quantile(p99_us: float) -> None:
    assert observed(p99_us).meets(SLO) == (p99_us < 200.0)


def test_the_limit_itself_is_too_slow() -> None:
    assert not observed(200.0).meets(SLO)


def test_a_window_that_was_cut_short_is_a_miss_however_fast_it_looked() -> None:
    assert observed(10.0).meets(SLO)
    assert not observed(10.0, "p99 was 800 us for a moment").meets(SLO)


def test_a_target_that_does_not_measure_the_slos_quantile_is_told() -> None:
    with pytest.raises(InputError, match="the target does not measure p90_us") as caught:
        observed(10.0).meets(Slo.parse("p90<200us"))
    assert caught.value.hint == "it measures p50_us, p99_us"
