from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayop.idle.depth import MOST_LATE, Depth
from bayop.idle.machines import MACHINES, IdleState

STATES = MACHINES["sandy-bridge"].states
POLL, C1, C1E, C3, C7 = range(5)
BOUNDS_US = [0.0, *(bound for octave in range(15) for bound in (2.0**octave, 1.5 * 2.0**octave))]


def bin_of(length_us: float) -> int:
    return max(index for index, bound_us in enumerate(BOUNDS_US) if bound_us <= length_us)


def new(*, price: float = 0.1, limit_us: float | None = None) -> Depth:
    return Depth(STATES, BOUNDS_US, price=price, limit_us=limit_us)


def windows(depth: Depth, stays: dict[tuple[int, int], int], count: int) -> int:
    """Shows the same window again and again, the states no deeper than the limit. Returns how often it changed."""
    changes = 0
    for _ in range(count):
        limited: Counter[tuple[int, int]] = Counter()
        for (state, bin_), number in stays.items():
            limited[min(state, depth.deepest), bin_] += number
        changes += depth.see(limited)
    return changes


def test_a_cpu_that_sleeps_too_deeply_for_short_stays_is_limited_and_saves_energy() -> None:
    depth = new()
    stays = {(C7, bin_of(50.0)): 900, (C7, bin_of(2000.0)): 1}
    assert windows(depth, stays, 4) == 0, "not at once"
    assert windows(depth, stays, 20) == 1
    assert depth.deepest == C1E
    assert depth.max_latency_us == STATES[C1E].exit_latency_us
    assert depth.outlook(C1E).energy_us < depth.outlook().energy_us
    assert depth.outlook(C1E).latency_us < depth.outlook().latency_us


def test_long_stays_are_not_limited_and_a_higher_price_limits_them() -> None:
    stays = {(C7, bin_of(1000.0)): 300}
    cheap, dear = new(), new(price=10.0)
    assert windows(cheap, stays, 20) == 0
    assert not cheap.is_limited
    assert windows(dear, stays, 20) == 1
    assert dear.is_limited


def test_a_limit_of_latency_is_kept_from_the_first_window_on_and_given_up_when_nothing_breaks_it() -> None:
    depth = new(limit_us=50.0)
    assert depth.see({(C7, bin_of(1000.0)): 100})
    assert depth.deepest == C1E, "the deepest that wakes up within 50 us"
    assert depth.outlook(C1E).late_share <= MOST_LATE
    # Few stays are late now, as far as is known from what the kernel chose without a limit.
    assert windows(depth, {(C1, bin_of(10.0)): 20_000, (C7, bin_of(10_000.0)): 150}, 60) == 1
    assert not depth.is_limited


def test_what_no_limit_can_keep_is_kept_as_well_as_can_be() -> None:
    depth = new(limit_us=1.0)
    assert depth.see({(C7, bin_of(1000.0)): 100})
    assert depth.deepest == C1, "never only polling"


def test_a_limit_is_given_up_when_stays_grow_long() -> None:
    depth = new()
    windows(depth, {(C7, bin_of(50.0)): 900}, 10)
    assert depth.is_limited
    assert windows(depth, {(C7, bin_of(5000.0)): 150}, 30) >= 1
    assert not depth.is_limited


@pytest.mark.parametrize("seed", range(6))
def test_a_kernel_that_errs_always_alike_makes_no_limit_flap(seed: int) -> None:
    chance = random.Random(seed)
    depth = new()
    changes = 0
    for _ in range(300):
        seen: Counter[tuple[int, int]] = Counter()
        for _ in range(400):
            length_us = chance.expovariate(1 / 90.0) if chance.random() < 0.8 else chance.expovariate(1 / 900.0)
            wish = C7 if chance.random() < 0.6 else C1E
            seen[min(wish, depth.deepest), bin_of(length_us)] += 1
        changes += depth.see(seen)
    assert changes == 1
    assert depth.is_limited


def test_a_rehearsal_counts_what_the_kernel_goes_on_choosing() -> None:
    depth = new()
    stays = {(C7, bin_of(50.0)): 900}
    assert sum(depth.see(stays, is_in_effect=False) for _ in range(50)) == 1
    assert depth.outlook().latency_us == pytest.approx(STATES[C7].exit_latency_us)


def test_a_few_stays_say_nothing() -> None:
    depth = new(limit_us=1.0)
    assert not depth.see({(C7, bin_of(1000.0)): 9})
    assert not depth.see({})


def test_states_that_a_limit_cannot_tell_apart_are_one_level() -> None:
    states = (IdleState("POLL", 0, 0, 1.0), IdleState("C1", 2, 2, 0.3), IdleState("C1E", 2, 20, 0.2))
    depth = Depth(states, BOUNDS_US, price=16.0)
    for _ in range(9):
        assert not depth.see({(2, bin_of(3.0)): 1000})
    assert depth.max_latency_us == 2


def test_a_machine_that_only_polls_is_left_alone() -> None:
    depth = Depth((IdleState("POLL", 0, 0, 1.0),), BOUNDS_US, price=1.0)
    assert not depth.see({(0, 5): 1000})
    assert not depth.is_limited


@given(
    st.lists(
        st.dictionaries(
            st.tuples(st.integers(0, 4), st.integers(0, len(BOUNDS_US) - 1)), st.integers(1, 10**12), max_size=12
        ),
        max_size=12,
    ),
    st.sampled_from([0.0, 0.1, 16.0]),
    st.sampled_from([None, 1.0, 50.0, 1e6]),
)
def test_whatever_is_counted_it_sleeps_and_is_never_later_than_without_a_limit(
    counted: list[dict[tuple[int, int], int]], price: float, limit_us: float | None
) -> None:
    depth = new(price=price, limit_us=limit_us)
    for stays in counted:
        depth.see(stays)
        assert C1 <= depth.deepest <= C7
        assert depth.outlook(depth.deepest).latency_us <= depth.outlook().latency_us * (1 + 1e-9)
