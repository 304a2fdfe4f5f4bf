from __future__ import annotations

from itertools import pairwise

import matplotlib as mpl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayop.report.style import bayop_style, spread

GAP = 0.08


def test_labels_that_do_not_overlap_stay_where_they_are() -> None:
    assert spread([0.1, 0.5, 0.9], GAP) == [0.1, 0.5, 0.9]


def test_labels_that_overlap_share_the_displacement() -> None:
    assert spread([0.5, 0.5], GAP) == pytest.approx([0.46, 0.54])


@given(st.lists(st.floats(-0.5, 1.5), max_size=10).map(sorted))
def test_labels_are_apart_and_inside(wanted: list[float]) -> None:
    placed = spread(wanted, GAP)
    assert len(placed) == len(wanted)
    assert all(b - a >= GAP - 1e-9 for a, b in pairwise(placed))
    assert all(-1e-9 <= y <= 1 + 1e-9 for y in placed)


def test_the_style_changes_nothing_outside() -> None:
    before = dict(mpl.rcParams)
    with bayop_style():
        assert mpl.rcParams["svg.fonttype"] == "none"
    assert dict(mpl.rcParams) == before
