from __future__ import annotations

import math
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from bayop.report.search_path import badges, draw_paths
from bayop.report.style import bayop_style

SIZE = 10.0
coordinates = st.floats(0.0, 300.0)


def test_a_badge_with_room_stands_on_its_trial() -> None:
    points = [(0.0, 0.0), (50.0, 0.0), (0.0, 50.0)]
    assert badges(points, (200.0, 200.0), SIZE) == points


def test_a_trial_made_again_stands_beside_the_first() -> None:
    first, second = badges([(5.0, 5.0), (5.0, 5.0)], None, SIZE)
    assert first == (5.0, 5.0)
    assert SIZE < math.dist(first, second) < 2 * SIZE


@given(st.lists(st.tuples(coordinates, coordinates), max_size=8))
def test_no_badge_covers_another_or_the_star(points: list[tuple[float, float]]) -> None:
    star = points[-1] if points else None
    stands = badges(points, star, SIZE)
    assert len(stands) == len(points)
    assert all(math.dist(a, b) > SIZE for a, b in combinations(stands, 2))
    assert star is None or all(math.dist(stand, star) > SIZE for stand in stands)


@pytest.mark.parametrize("held", [None, (0.5, 0.5)])
def test_every_number_is_drawn_and_moves_nothing(held: tuple[float, float] | None) -> None:
    with bayop_style():
        figure = Figure(layout="constrained")
        axes = figure.subplots()
        axes.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0))
        figure.draw_without_rendering()
        before = axes.get_position().bounds
        draw_paths(axes, [[(0.0, 1.0), (0.5, 0.5)], [], [(0.5, 0.51)]], held, size=SIZE)
        figure.draw_without_rendering()
    assert [text.get_text() for text in axes.texts] == ["1", "2", "3"]
    assert axes.get_position().bounds == pytest.approx(before)
