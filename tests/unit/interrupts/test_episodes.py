from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bayop.interrupts.episodes import Episodes, Run
from bayop.interrupts.intlog import layout_of

LAYOUT = layout_of(16, tsc_hz=1_000_000, energy_unit_j=None)
intervals = st.lists(st.tuples(st.integers(1, 1000), st.integers(0, 1200)), max_size=20)


def episodes_of(pairs: list[tuple[int, int]]) -> Episodes:
    ticks, cycles = (np.array([pair[i] for pair in pairs], dtype=np.int64) for i in (0, 1))
    return Episodes.of(LAYOUT, ticks, cycles)


def test_runs_of_busy_and_idle_intervals() -> None:
    episodes = episodes_of([(100, 10), (100, 90), (100, 50), (200, 0), (100, 100), (10, 9)])
    assert episodes.ends == (Run(busy=False, ticks=100), Run(busy=True, ticks=110))
    busy, idle = episodes.all(busy=True), episodes.all(busy=False)
    assert (busy.count, busy.ticks, busy.longest_ticks) == (2, 310, 200)
    assert (idle.count, idle.ticks, idle.longest_ticks) == (2, 300, 200)
    assert episodes.shares.tolist()[0] == 1
    assert episodes.shares.sum() == 6


@given(intervals, intervals, intervals)
def test_episodes_of_parts_add_up_to_those_of_the_whole(
    first: list[tuple[int, int]], second: list[tuple[int, int]], third: list[tuple[int, int]]
) -> None:
    merged = episodes_of(first)
    merged.merge(episodes_of(second))
    merged.merge(episodes_of(third))
    whole = episodes_of(first + second + third)
    assert merged.shares.tolist() == whole.shares.tolist()
    assert (merged.ends, merged.closed) == (whole.ends, whole.closed)
