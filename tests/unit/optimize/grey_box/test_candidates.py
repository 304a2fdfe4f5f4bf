from __future__ import annotations

import pytest

from bayop.domains import Choices, Steps
from bayop.optimize.grey_box.candidates import Candidates
from bayop.space import FREQ_MHZ, RX_USECS, Knob, Space
from bayop.testing.fakes import nic_and_cpu_space

PAPERS = nic_and_cpu_space(Steps(2, 400, 2), Steps(1300, 2900, 100), auto=False)


def test_a_small_space_is_taken_whole() -> None:
    small = nic_and_cpu_space(Steps(2, 40, 2), Choices((1300, 2100, 2900)), auto=True)
    candidates = Candidates(small)
    assert candidates.settings == small.settings()
    assert candidates.around(candidates.settings[5]) == [candidates.settings[5]]


def test_a_large_space_keeps_its_ends_and_its_names() -> None:
    governor = Knob("idle.governor", Choices(("menu", "teo")))
    large = Space((Knob(RX_USECS, Steps(1, 1000, 1), auto=True), Knob(FREQ_MHZ, Steps(800, 4000, 100)), governor))
    settings = Candidates(large).settings
    assert len(settings) <= 1000
    assert {s["idle.governor"] for s in settings} == {"menu", "teo"}
    delays = {s[RX_USECS] for s in settings}
    assert {1, 1000, "auto"} <= delays
    assert {800, 4000} <= {s[FREQ_MHZ] for s in settings}


@pytest.mark.parametrize("space", [PAPERS, nic_and_cpu_space(Steps(1, 1000, 1), Steps(800, 4000, 50), auto=False)])
def test_selection_and_neighbourhoods_cover_the_space(space: Space) -> None:
    candidates = Candidates(space)
    reached = {tuple(n.values()) for s in candidates.settings for n in candidates.around(s)}
    assert reached == {tuple(s.values()) for s in space.settings()}


def test_a_neighbourhood_of_many_knobs_has_an_end() -> None:
    space = Space(tuple(Knob(f"own.knob{i}", Steps(0, 1000, 1)) for i in range(5)))
    candidates = Candidates(space)
    middle = candidates.settings[len(candidates.settings) // 2]
    around = candidates.around(middle)
    assert middle in around
    assert 100 < len(around) < 40_000


def test_a_neighbourhood_has_the_setting_itself_and_no_other_selected_delay() -> None:
    candidates = Candidates(PAPERS)
    selected = sorted({s[RX_USECS] for s in candidates.settings})
    setting = {RX_USECS: selected[5], FREQ_MHZ: 2100}
    around = {s[RX_USECS] for s in candidates.around(setting)}
    assert around & set(selected) == {selected[5]}
    assert {s[FREQ_MHZ] for s in candidates.around(setting)} == {2100}


def eight_knobs() -> Space:
    return Space(tuple(Knob(f"own.knob{i}", Steps(0, 1000, 1)) for i in range(8)))


def test_many_knobs_are_filled_evenly() -> None:
    space = eight_knobs()
    candidates = Candidates(space)
    assert 100 < len(candidates.settings) <= 1000
    for knob in space.knobs:
        values = [float(s[knob.id]) for s in candidates.settings]
        assert min(values) < 100
        assert max(values) > 800
        assert len(set(values)) > 5
    assert all(dict(space.check(s)) == dict(s) for s in candidates.settings)


def test_what_is_near_differs_in_two_knobs_at_most() -> None:
    space = eight_knobs()
    setting = dict.fromkeys(space.ids, 500.0)
    near = Candidates(space).near([setting])
    moves = [sum(s[k] != 500 for k in space.ids) for s in near]
    assert set(moves) == {0, 1, 2}
    assert len(near) < 5000
    assert {1, -1} <= {s["own.knob0"] - 500 for s in near}, "the next neighbours"  # type: ignore[operator]
    assert {0, 1000} <= {s["own.knob0"] for s in near}, "both ends"
    assert Candidates(PAPERS).near([{RX_USECS: 2, FREQ_MHZ: 2900}]) == [], "a grid needs none"
