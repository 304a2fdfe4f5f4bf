from __future__ import annotations

import pytest
from bench.idle.limits import limited, table

from bayop.idle.machines import MACHINES

MACHINE = MACHINES["sandy-bridge"]
C7 = len(MACHINE.states) - 1


def test_limits_take_effect_in_the_windows_that_follow_and_save_by_real_lengths() -> None:
    stays = [(second + 0.001 * index, C7, 50) for second in range(20) for index in range(100)]
    row = limited(MACHINE, "short", "menu", stays, {"price": 0.1})
    assert (row.changes, row.windows) == (1, 20)
    # Five windows pass before the limit, which then allows C1E.
    assert row.latency_us == MACHINE.states[C7].exit_latency_us
    assert row.limited_latency_us == pytest.approx(
        0.25 * MACHINE.states[C7].exit_latency_us + 0.75 * MACHINE.states[2].exit_latency_us
    )
    assert 0.25 < row.energy < 0.5


def test_stays_that_are_long_enough_are_left_alone() -> None:
    stays = [(0.01 * index, C7, 5000) for index in range(2000)]
    row = limited(MACHINE, "long", "menu", stays, {"price": 0.1})
    assert (row.energy, row.changes) == (1.0, 0)


def test_a_limit_of_latency_counts_what_is_late() -> None:
    stays = [(0.01 * index, C7, 5000) for index in range(1000)]
    row = limited(MACHINE, "long", "menu", stays, {"price": 0.0, "limit_us": 50.0})
    assert row.late_share == pytest.approx(0.1), "the first of ten windows"
    assert "| menu | limit 50 us |" in table([row])
