from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayop.domains import Choices, Range, Steps
from bayop.errors import InputError
from bayop.experiments.sweep.design import MOST_SETTINGS, axes, fill, grid
from bayop.space import AUTO, Knob, Space
from bayop.testing.fakes import nic_and_cpu_space

SPACE = nic_and_cpu_space(Steps(2, 1022, 2), Steps(1200, 2900, 100), auto=True)


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    def knob(number: int) -> Knob:
        auto = draw(st.booleans())
        if draw(st.booleans()):
            words = draw(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6, unique=True))
            return Knob(f"test.word{number}", Choices(tuple(words)), auto)
        low, step = draw(st.integers(0, 50)), draw(st.integers(1, 9))
        count = draw(st.integers(0, 40))
        reserved = ((low + step, low + step),) if count > 2 and draw(st.booleans()) else ()
        return Knob(f"test.wait{number}_us", Steps(low, low + count * step, step, reserved), auto)

    return Space(tuple(knob(i) for i in range(draw(st.integers(1, 3)))))


@given(spaces(), st.integers(1, 9), st.booleans())
def test_a_grid_is_made_of_the_spaces_settings_each_once(space: Space, points: int, auto: bool) -> None:  # noqa: FBT001
    design = grid(axes(space, {}, points=points, with_auto=auto))
    assert all(space.check(s) == s for s in design)
    assert len({tuple(s.items()) for s in design}) == len(design)
    counts = [min(points, len(k.domain.values())) + (auto and k.auto) for k in space.knobs]
    assert len(design) == math.prod(counts)


@given(spaces(), st.integers(0, 2**32 - 1), st.data())
def test_a_filling_design_has_as_many_distinct_settings_of_the_space_as_were_asked_for(
    space: Space, seed: int, data: st.DataObject
) -> None:
    of = axes(space, {}, with_auto=True)
    there_are = math.prod(len(values) for values in of.values())
    count = data.draw(st.integers(1, min(there_are, 300)))
    design = fill(of, count, seed=seed)
    assert all(space.check(s) == s for s in design)
    assert len({tuple(s.items()) for s in design}) == len(design) == count
    assert design == fill(of, count, seed=seed)


def test_a_filling_design_is_even_on_every_knob() -> None:
    design = fill(axes(SPACE, {}), 180, seed=3)
    frequencies = [s["cpu.freq_mhz"] for s in design]
    assert all(8 <= frequencies.count(f) <= 12 for f in SPACE["cpu.freq_mhz"].numbers())
    delays = sorted(float(s["nic.rx_usecs"]) for s in design)
    assert all(abs(d - (2 + 1020 * (i + 0.5) / 180)) < 30 for i, d in enumerate(delays))


def test_all_of_a_space_can_be_asked_for() -> None:
    of = axes(SPACE, {"nic.rx_usecs": Range(2, 102, 20)})
    every = {tuple(s.items()) for s in grid(of)}
    assert {tuple(s.items()) for s in fill(of, len(every), seed=0)} == every


def test_ranges_and_lists_choose_values() -> None:
    choices: dict[str, Range | Sequence[str]] = {
        "nic.rx_usecs": Range(2, 1002, 200),
        "cpu.freq_mhz": ["auto", "1.3GHz", "2900", "1300MHz"],
    }
    of = axes(SPACE, choices, points=2)
    assert of["nic.rx_usecs"] == (2, 202, 402, 602, 802, 1002)
    assert of["cpu.freq_mhz"] == (AUTO, 1300, 2900)
    assert [tuple(s.values()) for s in grid(of)][:4] == [(2, AUTO), (2, 1300), (2, 2900), (202, AUTO)]


def test_a_range_without_a_step_has_as_many_points_as_other_knobs() -> None:
    of = axes(SPACE, {"nic.rx_usecs": Range(100, 300)}, points=3)
    assert of["nic.rx_usecs"] == (100, 200, 300)
    assert of["cpu.freq_mhz"] == (1200, 2000, 2900)
    assert axes(SPACE, {}, points=1)["cpu.freq_mhz"] == (1200,)


@pytest.mark.parametrize(
    ("choices", "rule"),
    [
        ({"nic.rx_usec": ["2"]}, "there is no knob 'nic.rx_usec' here"),
        ({"nic.rx_usecs": ["2", "3"]}, "nic.rx_usecs must be 2us to 1022us in steps of 2us, or auto"),
        ({"nic.rx_usecs": ["2ms"]}, "nic.rx_usecs must be 2us to 1022us in steps of 2us, or auto"),
        ({"nic.rx_usecs": ["2GHz"]}, "it must be a time"),
        ({"nic.rx_usecs": Range(0, 1000, 100)}, "nic.rx_usecs must be 2us to 1022us in steps of 2us, or auto"),
    ],
)
def test_what_a_knob_does_not_take_is_refused(choices: dict[str, Range | list[str]], rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        axes(SPACE, choices)


def test_designs_of_an_impossible_size_are_refused() -> None:
    with pytest.raises(InputError, match="at most the space's 9198"):
        fill(axes(SPACE, {}), 9199, seed=0)
    with pytest.raises(InputError, match="at least one"):
        fill(axes(SPACE, {}), 0, seed=0)
    fine = Space((Knob("a.b_us", Steps(0, 1e4, 1)), Knob("c.d_us", Steps(0, 1e4, 1))))
    with pytest.raises(InputError, match=f"at most {MOST_SETTINGS} settings"):
        grid(axes(fine, {}))
