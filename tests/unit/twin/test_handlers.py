from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayop.errors import InputError
from bayop.twin.handlers import HandlerTimes


@given(st.floats(0.1, 20.0), st.floats(0.01, 5.0), st.integers(0, 2**32 - 1))
def test_costs_are_found_where_nothing_scatters(fixed: float, each: float, seed: int) -> None:
    packets = np.append(np.random.default_rng(seed).integers(0, 30, 100), [0, 30])
    line = HandlerTimes.of(packets, fixed + each * packets).line()
    assert (line.fixed, line.each) == pytest.approx((fixed, each), rel=1e-6, abs=1e-6)


def test_the_standard_errors_are_how_far_fits_scatter() -> None:
    random = np.random.default_rng(3)
    lines = []
    for _ in range(300):
        packets = random.poisson(4.0, 400)
        lines.append(HandlerTimes.of(packets, 5.0 + 0.5 * packets + random.normal(0.0, 1.0, 400)).line())
    for name in ("fixed", "each"):
        found = np.array([getattr(line, name) for line in lines])
        stated = np.mean([getattr(line, f"{name}_sd") for line in lines])
        assert np.std(found) == pytest.approx(stated, rel=0.15), name


def test_parts_add_up_to_the_whole() -> None:
    random = np.random.default_rng(0)
    packets = random.poisson(3.0, 1_000)
    times = packets * random.exponential(2.0, 1_000)
    parts = [HandlerTimes.of(packets[a:b], times[a:b]) for a, b in ((0, 10), (10, 700), (700, 1_000))]
    whole, added = HandlerTimes.of(packets, times), HandlerTimes.added(parts)
    assert added.time_squared == pytest.approx(whole.time_squared)
    assert added.line().each == pytest.approx(whole.line().each)


def test_other_units_scale_the_line() -> None:
    times = HandlerTimes.of(np.array([1, 2, 5]), np.array([3.0, 4.1, 6.9]))
    line, scaled = times.line(), times.times_factor(2.5).line()
    assert (scaled.fixed, scaled.each) == pytest.approx((2.5 * line.fixed, 2.5 * line.each))
    assert scaled.each_sd == pytest.approx(2.5 * line.each_sd)


def test_no_interrupt_costs_less_than_nothing() -> None:
    line = HandlerTimes.of(np.tile([1, 2, 3], 50), np.tile([0.1, 2.0, 3.9], 50)).line()
    assert line.fixed == 0.0
    assert line.each == pytest.approx((0.1 + 4.0 + 11.7) / 14.0)


@pytest.mark.parametrize("times", [[3.0, 3.0, 3.0], [5.0, 4.0, 3.0]])
def test_costs_that_cannot_be_told_apart_are_refused(times: list[float]) -> None:
    with pytest.raises(InputError, match="the more packets they bring"):
        HandlerTimes.of(np.array([1, 2, 3]), np.array(times)).line()


def test_batches_that_are_all_alike_are_refused() -> None:
    with pytest.raises(InputError) as caught:
        HandlerTimes.of(np.full(50, 1), np.linspace(1.0, 2.0, 50)).line()
    assert "nic.rx_usecs=200us" in str(caught.value.hint)


def test_so_is_what_may_be_chance() -> None:
    """As on a virtual machine at a low rate: hardly an interrupt brings two packets, and the times scatter."""
    random = np.random.default_rng(6)
    packets, times = np.append(np.ones(5_000, np.int64), [2, 2]), random.exponential(20.0, 5_002)
    assert np.cov(packets, times)[0, 1] > 0.0
    with pytest.raises(InputError, match="don't surely grow"):
        HandlerTimes.of(packets, times).line()
