"""The loop in virtual time: what the controller decides is done to a machine of formulas."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bayop.control.actions import FellBack
from bayop.control.controller import Controller
from bayop.control.guard import Guard
from bayop.control.history import History
from bayop.control.ledger import LedgerWindow, Search
from bayop.control.policy import Policy
from bayop.control.triggers import AnyOf, Breach, LoadChange
from bayop.daemon.keep import AskedError, keep, observe
from bayop.domains import Steps
from bayop.measurement import Measurement
from bayop.objective import Objective
from bayop.optimize import make_optimizer
from bayop.slo import Slo
from bayop.space import Knob, Setting, Space

SLO = Slo.parse("p99<200us")
CAP = "power.cap_w"
SPACE = Space((Knob(CAP, Steps(60, 120, 5), safest="high"),))


class EndOfTestError(Exception):
    pass


class Box:
    """A machine whose latency grows as its cap falls; time passes in its windows alone.

    Args:
        fall_back: Whether the agent falls back in the window that begins at a time.
        asked_s: When a search is asked for, in a window that is ended by it.
    """

    def __init__(self, fall_back: Callable[[float], bool] = lambda _: False, asked_s: float | None = None) -> None:
        self._asked_s = asked_s
        self.now_s, self.qps = 0.0, 5000.0
        self.is_steered = False
        self.load: Callable[[float], float] = lambda _: 5000.0
        self.done: list[tuple[str, Setting | None]] = []
        self.ends_s = 60.0
        self._setting: Setting = {}
        self._falls_back = fall_back

    def clock(self) -> float:
        return self.now_s

    def apply(self, setting: Setting) -> Setting:
        return self._put("apply", setting)

    def hold(self, setting: Setting) -> Setting:
        return self._put("hold", setting)

    def restore(self) -> None:
        self._setting = {}
        self.done.append(("restore", None))

    def trial(self) -> Measurement:
        return self._window(1.0)

    def watch(self, duration_s: float) -> Measurement | FellBack:
        if self._asked_s is not None and self.now_s <= self._asked_s < self.now_s + duration_s:
            self.now_s, self._asked_s = self._asked_s, None
            raise AskedError
        if self._setting and self._falls_back(self.now_s):
            self.now_s += 1.0
            self._setting = {}
            return FellBack(Measurement({"p99_us": 900.0}, cut_short="p99 900 us"), by_latency=True)
        return self._window(duration_s)

    def _put(self, how: str, setting: Setting) -> Setting:
        self._setting = setting
        self.done.append((how, dict(setting)))
        return setting

    def _window(self, duration_s: float) -> Measurement:
        if self.now_s >= self.ends_s:
            raise EndOfTestError
        self.now_s += duration_s
        self.qps = self.load(self.now_s)
        cap_w = float(self._setting.get(CAP, 120))
        p99_us = 100 * (120 / cap_w) ** 2 * self.qps / 5000
        return Measurement({"power_w": cap_w, "p99_us": p99_us, "qps": self.qps, "utilization": 0.5})


def run(box: Box, history: History | None = None, *, phase_s: float = 0.0) -> tuple[list[LedgerWindow], list[Search]]:
    windows: list[LedgerWindow] = []
    searches: list[Search] = []
    policy = Policy(
        SPACE,
        SLO,
        Objective.parse("power", SLO),
        AnyOf((LoadChange(), Breach(1.0))),
        Guard(),
        trial_s=1.0,
        watch_s=10.0,
        phase_s=phase_s,
        small_steps=True,
        default_first=True,
    )
    controller = Controller(
        policy,
        lambda problem, number: make_optimizer("grey-box", problem, seed=number),
        history=history,
        on_window=windows.append,
        on_search=searches.append,
    )
    with pytest.raises(EndOfTestError):
        keep(controller, box, box.clock)
    return windows, searches


def test_trials_are_applied_and_what_is_found_is_held() -> None:
    box = Box()
    windows, (search,) = run(box)
    assert box.done[0] == ("restore", None)
    assert windows[0].phase == "default"
    assert [how for how, _ in box.done[1:]] == ["apply"] * len(search.trials) + ["hold"]
    assert box.done[-1] == ("hold", dict(search.setting or {}))
    assert (search.setting or {})[CAP] in (85, 90)
    assert [w.phase for w in windows].count("trial") == len(search.trials)
    assert windows[-1].phase == "hold"
    ends = [w.end_s for w in windows]
    assert [w.start_s for w in windows[1:]] == pytest.approx(ends[:-1]), "every second is in the books"
    assert ends[-1] % 10 == pytest.approx(0)


def test_a_new_load_is_searched_from_the_default_on() -> None:
    box = Box()
    box.load = lambda now_s: 5000.0 if now_s < 30 else 7000.0
    windows, (first, second) = run(box)
    assert second.reason == "load +40%"
    assert float((first.setting or {})[CAP]) < float((second.setting or {})[CAP])
    began = next(w for w in windows if w.start_s == second.start_s)
    assert began.phase == "trial"
    before = next(w for w in windows if w.end_s == began.start_s)
    assert (before.phase, before.setting) == ("default", None)


def test_after_a_fall_back_of_the_agent_the_default_is_watched_before_the_next_search() -> None:
    fell: list[float] = []

    def once(now_s: float) -> bool:
        if now_s >= 20 and not fell:
            fell.append(now_s)
            return True
        return False

    windows, searches = run(Box(once))
    at = next(i for i, w in enumerate(windows) if w.cut_short == "p99 900 us")
    assert (windows[at].phase, windows[at].meets_slo) == ("hold", False)
    assert [(w.phase, w.setting) for w in windows[at + 1 : at + 3]] == [("fall-back", None), ("default", None)]
    assert [s.reason for s in searches] == ["start", "SLO missed"]
    assert searches[1].setting != searches[0].setting, "it was seen to miss the SLO"


def test_a_search_that_is_asked_for_ends_the_window_under_way() -> None:
    windows, searches = run(Box(asked_s=34.0))
    assert [s.reason for s in searches] == ["start", "asked for"]
    default = next(w for w in windows if w.start_s == 34.0)
    assert (default.phase, default.setting) == ("default", None)
    assert windows[-1].phase == "hold"


def test_what_is_known_saves_trials() -> None:
    _, (first,) = run(Box(), history := History())
    _, (again,) = run(Box(), history)
    assert len(again.trials) < len(first.trials)


def test_a_machine_that_is_observed_is_only_watched() -> None:
    box, windows = Box(), list[LedgerWindow]()
    box.now_s = 3.0
    with pytest.raises(EndOfTestError):
        observe(box, SLO, 10.0, box.clock, windows.append)
    assert box.done == []
    assert [w.end_s for w in windows] == [10, 20, 30, 40, 50, 60]
    assert {(w.phase, w.setting, w.power_w) for w in windows} == {("default", None, 120.0)}


def test_windows_end_at_their_phase() -> None:
    box, windows = Box(), list[LedgerWindow]()
    with pytest.raises(EndOfTestError):
        observe(box, SLO, 10.0, box.clock, windows.append, phase_s=4.0)
    assert [w.end_s for w in windows] == [4, 14, 24, 34, 44, 54, 64]
    windows, _ = run(Box(), phase_s=4.0)
    held = [w.end_s for w in windows if w.phase == "hold"]
    assert held == pytest.approx([14 + 10 * n for n in range(len(held))])
    assert len(held) >= 5


def test_what_somebody_else_has_applied_is_no_default() -> None:
    box, windows = Box(), list[LedgerWindow]()

    def on_window(window: LedgerWindow) -> None:
        windows.append(window)
        box.is_steered = 15 < box.now_s < 35

    with pytest.raises(EndOfTestError):
        observe(box, SLO, 10.0, box.clock, on_window)
    # It ends with a window: no moment of the next is known to be free of it.
    assert [w.phase for w in windows] == ["default", "default", "other", "other", "other", "default"]
