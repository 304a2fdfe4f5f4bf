from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bayop.interrupts.energy import Energy

STEPS = st.lists(st.tuples(st.integers(1, 10**9), st.integers(0, 10**8)), min_size=2, max_size=50)


def energy_of(steps: list[tuple[int, int]], begin_ns: int) -> tuple[Energy, int, int]:
    """Readings that follow each other, with the last time and what had been drawn by then."""
    energy, time_ns, drawn_uj = Energy(), begin_ns, 0
    energy.add(time_ns, drawn_uj)
    for ns, uj in steps:
        time_ns, drawn_uj = time_ns + ns, drawn_uj + uj
        energy.add(time_ns, drawn_uj)
    return energy, time_ns, drawn_uj


@given(STEPS, st.integers(0, 2**62))
def test_what_records_have_adds_up_to_what_was_drawn(steps: list[tuple[int, int]], begin_ns: int) -> None:
    energy, end_ns, drawn_uj = energy_of(steps, begin_ns)
    times_ns = np.sort(np.random.default_rng(1).integers(begin_ns, end_ns, 100, endpoint=True))
    by_then_uj = energy.until(np.append(times_ns, end_ns).astype(np.uint64))
    assert (np.diff(by_then_uj) >= 0).all()
    assert by_then_uj[-1] == drawn_uj


def test_a_line_goes_from_reading_to_reading() -> None:
    energy, _, _ = energy_of([(1_000, 60), (1_000, 20)], 10**18)
    assert energy.until(np.array([0, 500, 1_000, 1_500, 9_000]) + 10**18).tolist() == [0, 30, 60, 70, 80]


def test_what_goes_on_begins_with_the_last_reading() -> None:
    energy, end_ns, drawn_uj = energy_of([(1_000, 60)], 0)
    after = energy.ending()
    after.add(end_ns + 1_000, drawn_uj + 40)
    assert after.until(np.array([end_ns, end_ns + 500])).tolist() == [60, 80]


def test_without_a_reading_nothing_was_drawn() -> None:
    assert Energy().ending().until(np.array([1, 2])).tolist() == [0, 0]
