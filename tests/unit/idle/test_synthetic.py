from __future__ import annotations

import pytest

from bayop.idle.stays import TIMER
from bayop.idle.synthetic import KINDS, PACKETS, synthetic_trace


@pytest.mark.parametrize("kind", KINDS)
def test_periods_follow_each_other_and_a_timer_ends_those_that_it_says(kind: str) -> None:
    trace = synthetic_trace(kind, 1)
    assert len(trace.rows) > PACKETS / 2
    end_us = 0
    for start_us, length_us, timer_us, waker, _, _ in trace.rows:
        assert start_us >= end_us
        assert 0 < length_us <= timer_us
        assert waker != TIMER or length_us == timer_us
        end_us = start_us + length_us


def test_a_seed_stands_for_a_trace() -> None:
    assert synthetic_trace("mmpp", 3) == synthetic_trace("mmpp", 3)
    assert synthetic_trace("mmpp", 3) != synthetic_trace("mmpp", 4)


def test_poisson_arrivals_have_the_rate_that_they_say() -> None:
    rows = synthetic_trace("poisson", 1).rows
    span_s = 1e-6 * (rows[-1][0] + rows[-1][1])
    assert PACKETS / span_s == pytest.approx(2_000, rel=0.05)
