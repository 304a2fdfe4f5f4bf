from __future__ import annotations

import pytest

from bayop.control.ledger import LedgerWindow, Phase, Search
from bayop.control.triggers import AnyOf, Breach, Clock, LoadChange, Situation, parse_trigger
from bayop.errors import InputError


def situation(
    now_s: float,
    *,
    qps: float = 1000.0,
    met: bool = True,
    phase: Phase = "hold",
    searched_s: float = 0.0,
    reason: str = "start",
    fallen_back: bool = False,
) -> Situation:
    last = LedgerWindow(now_s - 60, 60, phase, None, qps, 80.0, 400.0 if met else 600.0, 0.01, meets_slo=met)
    searched = Search(1, reason, searched_s, searched_s + 100, 1000.0, (), "converged", None)
    return Situation(now_s, last, searched, fallen_back)


@pytest.mark.parametrize(
    ("now_s", "searched_s", "fires"),
    [
        (3540, 0, False),
        (3600, 0, True),
        (3600, 3599, True),
        (3660, 3600, False),
        (7199, 3650, False),
        (7200, 3650, True),
    ],
)
def test_the_clock_fires_once_in_every_period(now_s: float, searched_s: float, *, fires: bool) -> None:
    assert (Clock().fires(situation(now_s, searched_s=searched_s)) is not None) is fires


@pytest.mark.parametrize(("qps", "fires"), [(1000, False), (1050, False), (1051, True), (951, False), (949, True)])
def test_a_load_outside_the_band_fires(qps: float, *, fires: bool) -> None:
    reason = LoadChange(0.05).fires(situation(600, qps=qps))
    assert (reason is not None) is fires


def test_the_reason_says_how_the_load_changed() -> None:
    assert LoadChange().fires(situation(600, qps=1200)) == "load +20%"


def test_a_breach_fires_at_once_but_not_again_and_again() -> None:
    breach = Breach(rest_s=600)
    assert breach.fires(situation(160, met=True)) is None
    reason = breach.fires(situation(160, met=False))
    assert reason is not None
    assert breach.fires(situation(160, met=False, reason=reason)) is None
    assert breach.fires(situation(699, met=False, reason=reason)) is None
    assert breach.fires(situation(700, met=False, reason=reason)) is not None


def test_after_a_fall_back_one_window_of_the_safe_setting_comes_first() -> None:
    breach = Breach()
    assert breach.fires(situation(160, met=False, fallen_back=True)) is None
    assert breach.fires(situation(220, met=True, phase="fall-back", fallen_back=True)) is not None


def test_the_first_of_several_triggers_gives_the_reason() -> None:
    both = AnyOf((LoadChange(), Breach()))
    assert both.fires(situation(200)) is None
    assert both.fires(situation(200, met=False)) == "SLO missed"
    assert both.fires(situation(200, met=False, qps=2000)) == "load +100%"


def test_triggers_are_named_alone_or_together() -> None:
    assert parse_trigger("clock") == Clock()
    assert parse_trigger("load, breach") == AnyOf((LoadChange(), Breach()))


@pytest.mark.parametrize("text", ["", "hourly", "clock,", "Clock"])
def test_an_unknown_trigger_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="a trigger must be one of clock, load, breach"):
        parse_trigger(text)


@pytest.mark.parametrize("bad", [lambda: Clock(0), lambda: LoadChange(0), lambda: LoadChange(1.5)])
def test_a_trigger_that_never_rests_is_refused(bad: object) -> None:
    assert callable(bad)
    with pytest.raises(InputError):
        bad()
