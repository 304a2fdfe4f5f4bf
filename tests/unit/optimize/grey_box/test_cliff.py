from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayop.optimize.grey_box.cliff import Cliff
from bayop.optimize.grey_box.inputs import Array, Inputs

share = st.floats(0.0, 1.0)
point = st.tuples(share, share)
points = st.lists(point, min_size=1, max_size=5)


def at(*coordinates: tuple[float, float]) -> Inputs:
    """Points of two knobs that the prior explains."""
    n, known = len(coordinates), np.array(coordinates)
    return Inputs(np.zeros(n), np.ones(n), np.ones(n), np.zeros(n), known, np.empty((n, 0)))


def clear(where: Inputs, fine: Inputs, fallen: Inputs) -> Array:
    return Cliff(fine, fallen).clear(where)


def test_half_way_to_what_fell_is_as_likely_beyond_as_before() -> None:
    way = at(*((0.1 + 0.2 * i, 0.5) for i in range(5)))
    along = clear(way, fine=at((0.1, 0.5)), fallen=at((0.9, 0.5)))
    assert along[2] == pytest.approx(0.5, abs=0.02)
    assert along[1] + along[3] == pytest.approx(1.0, abs=0.02)
    assert along[0] > 0.98
    assert along[4] < 0.02
    assert (np.diff(along) < 0.0).all()


def test_what_lies_behind_what_fell_is_beyond_and_what_lies_behind_what_was_fine_is_not() -> None:
    behind = clear(at((0.0, 0.5), (1.0, 0.5)), fine=at((0.4, 0.5)), fallen=at((0.6, 0.5)))
    assert behind[0] > 0.9
    assert behind[1] < 0.1


def test_a_step_that_went_well_moves_the_cliff_away() -> None:
    where, fallen = at((0.5, 0.5)), at((0.9, 0.9))
    before = clear(where, at((0.1, 0.1)), fallen)
    after = clear(where, at((0.1, 0.1), (0.45, 0.45)), fallen)
    assert after[0] > before[0] + 0.3


def test_two_falls_tell_the_direction_of_the_edge() -> None:
    """Both fell at the same share of one knob, far apart in the other: that other knob is no way out."""
    fine, where = at((0.1, 0.1), (0.1, 0.9)), at((0.6, 0.5), (0.1, 0.5))
    across, along = clear(where, fine, at((0.5, 0.1), (0.5, 0.9)))
    assert across < 0.05
    assert along > 0.95


@given(where=points, fine=points, fallen=points)
def test_whatever_was_seen_it_is_a_probability(
    where: list[tuple[float, float]], fine: list[tuple[float, float]], fallen: list[tuple[float, float]]
) -> None:
    found = clear(at(*where), at(*fine), at(*fallen))
    assert found.shape == (len(where),)
    assert (found >= -1e-9).all()
    assert (found <= 1.0 + 1e-9).all()


@pytest.mark.parametrize("dimensions", [1, 3, 9])
def test_any_number_of_knobs_will_do(dimensions: int) -> None:
    low, half, high = (
        replace(at((x, x)), known=np.full((1, 1), x), unknown=np.full((1, dimensions - 1), x)) for x in (0.1, 0.5, 0.9)
    )
    assert clear(half, fine=low, fallen=high)[0] == pytest.approx(0.5, abs=0.1)
    assert clear(low, fine=low, fallen=high)[0] > 0.98
    assert clear(high, fine=low, fallen=high)[0] < 0.02
