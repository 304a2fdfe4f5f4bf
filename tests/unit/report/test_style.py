from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayop.report
from bayop.report.style import COLOURS, OS_COLOURS, SERIES, SLO_COLOUR, bayop_style, os_colour, spread

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


def luminance(colour: str) -> float:
    """Of sRGB, as WCAG 2 defines it."""
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("paper", ["#ffffff", "#14181d"])
@pytest.mark.parametrize("colour", sorted({*COLOURS.values(), SLO_COLOUR, *(colour for colour, _ in SERIES)}))
def test_every_colour_stands_out_of_light_and_dark_paper(colour: str, paper: str) -> None:
    low, high = sorted((luminance(colour), luminance(paper)))
    assert (high + 0.05) / (low + 0.05) >= 3.0


def test_no_series_has_the_colour_of_an_operating_system() -> None:
    assert not set(OS_COLOURS.values()) & {colour for colour, _ in SERIES}


@pytest.mark.parametrize("name", ["EbbRT", "ebbrt on node1", "interrupts_netpipe_ebbrt_64B"])
def test_the_colour_of_an_operating_system_is_known_by_its_name(name: str) -> None:
    assert os_colour(name) == OS_COLOURS["ebbrt"]
    assert os_colour("node1") is None


def test_only_the_style_names_colours_of_operating_systems() -> None:
    files = (Path(bayop.report.__file__).parent).glob("*.py")
    named = {f.name for f in files for colour in OS_COLOURS.values() if colour in f.read_text(encoding="utf-8")}
    assert named == {"style.py"}
