from __future__ import annotations

from typing import Any

import pytest

from bayop.errors import InputError
from bayop.experiments.sweep.load import Load
from bayop.experiments.sweep.plan import Plan
from bayop.experiments.sweep.repeats import Repeats

SETTINGS = [{"nic.rx_usecs": d, "cpu.freq_mhz": f} for d in ("auto", 2, 100) for f in ("auto", 1300)]
LOADS = [Load(qps=2e5), Load(qps=6e5)]


def plan(**changes: Any) -> Plan:
    arguments: dict[str, Any] = {"target": {"kind": "twin"}, "repeats": Repeats(3, 3), "seed": 5, "version": "1"}
    settings, loads = changes.pop("settings", SETTINGS), changes.pop("loads", LOADS)
    return Plan.of(settings, loads, **(arguments | changes))


def test_every_setting_is_measured_under_every_load() -> None:
    cells = plan().cells
    assert len(cells) == 12
    assert {(c.load, tuple(c.setting.values())) for c in cells} == {
        (load, tuple(s.values())) for load in LOADS for s in SETTINGS
    }
    assert [c.number for c in cells if c.is_default] == [1, 7]


def test_a_trials_number_says_what_it_is() -> None:
    p = plan()
    trials = [p.trial(cell, repeat) for cell in p.cells for repeat in (1, 2, 3)]
    assert [t.number for t in trials] == list(range(1, 37))
    assert all(p.place_of(t.number) == (t.cell, t.repeat) for t in trials)
    assert len({t.seed for t in trials}) == 36
    assert all(0 <= t.seed < 2**53 for t in trials)


def test_every_round_has_every_cell_once_in_an_order_of_its_own() -> None:
    p = plan()
    orders = [p.order(repeat) for repeat in (1, 2, 3)]
    assert all(sorted(order) == list(range(12)) for order in orders)
    assert orders[0] != orders[1] != orders[2]
    assert orders[0] == plan().order(1)
    assert orders[0] != plan(seed=6).order(1)


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 6},
        {"version": "2"},
        {"target": {"kind": "study"}},
        {"repeats": Repeats(2, 2)},
        {"loads": LOADS[:1]},
        {"loads": [None]},
        {"settings": SETTINGS[:-1]},
        {"settings": SETTINGS[::-1]},
    ],
)
def test_another_plan_has_another_fingerprint(change: dict[str, Any]) -> None:
    assert plan().fingerprint == plan().fingerprint
    assert plan(**change).fingerprint != plan().fingerprint


def test_nothing_and_doubles_are_no_plan() -> None:
    changes: list[dict[str, Any]] = [
        {"settings": []},
        {"loads": []},
        {"settings": SETTINGS * 2},
        {"loads": LOADS[:1] * 2},
    ]
    for change in changes:
        with pytest.raises(InputError, match="each once"):
            plan(**change)
