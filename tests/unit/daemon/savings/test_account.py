"""What a saving is worth: power net of switchbacks, energy, money by the time of day, carbon by the grid's hour."""

from __future__ import annotations

import pytest

from bayop.carbon.grid import Grid
from bayop.control.quiet import Quiet
from bayop.daemon.savings.account import days, saved
from bayop.daemon.savings.worth import Tariff, Worth
from bayop.state.held import HeldTime, Quarter
from bayop.switchback import Switchback

HOUR_S, DAY_S = 3600.0, 86_400.0
MONDAY_S = 4 * DAY_S
EVEN = tuple((MONDAY_S + n * 600.0, Switchback(50.0, 60.0 + n % 2, 50.0, 3000.0)) for n in range(4))
"""Differences of 10, 11, 10 and 11 W."""


def held(*hours: int) -> HeldTime:
    """An hour held, but for a minute, in each of these hours since Monday."""
    quarters = [MONDAY_S + hour * HOUR_S + n * 900.0 for hour in hours for n in range(4)]
    return HeldTime(tuple(Quarter(start_s, 885.0, 15.0) for start_s in quarters), EVEN)


def test_switchbacks_cost_their_time_and_energy_is_of_the_time_held() -> None:
    event = saved(held(0, 1), Worth(), MONDAY_S, MONDAY_S + DAY_S).event()
    assert (event["held_s"], event["switchback_s"], event["switchbacks"]) == (7080.0, 120.0, 4)
    assert event["default_w"] == 60.5
    power_w, energy_kwh = event["power_w"], event["energy_kwh"]
    assert isinstance(power_w, dict)
    assert isinstance(energy_kwh, dict)
    assert power_w["value"] == pytest.approx(10.5 * 7080 / 7200)
    assert power_w["low"] < power_w["value"] < power_w["high"]
    assert energy_kwh["value"] == pytest.approx(10.5 * 7080 / 3.6e6, rel=1e-5)
    assert (event["cost"], event["currency"], event["carbon_g"]) == (None, None, None)


def test_money_and_carbon_go_by_the_hours_in_which_something_was_held() -> None:
    night = Quiet.parse(["22:00-06:00"])
    worth = Worth(Tariff("EUR", 0.4, ((night, 0.1),)), Grid((100.0, *[300.0] * 23)))
    dear, cheap = (
        saved(held(hour), worth, MONDAY_S, MONDAY_S + DAY_S).event() for hour in (12, 0)
    )  # noon, and the hour after midnight
    for event, price, carbon in ((dear, 0.4, 300.0), (cheap, 0.1, 100.0)):
        cost, carbon_g = event["cost"], event["carbon_g"]
        assert isinstance(cost, dict)
        assert isinstance(carbon_g, dict)
        assert cost["value"] == pytest.approx(10.5 * 3540 / 3.6e6 * price, rel=1e-5)
        assert carbon_g["value"] == pytest.approx(10.5 * 3540 / 3.6e6 * carbon, rel=1e-5)
    assert dear["currency"] == "EUR"


def test_a_grid_by_the_hours_of_a_week_begins_on_monday() -> None:
    worth = Worth(grid=Grid(tuple(float(hour + 1) for hour in range(168))))
    assert worth.carbon_g_at(MONDAY_S) == 1.0
    assert worth.carbon_g_at(MONDAY_S + 7 * DAY_S + 25.5 * HOUR_S) == 26.0
    assert worth.carbon_g_at(MONDAY_S - 1.0) == 168.0


def test_with_one_switchback_no_end_is_known_and_without_one_nothing() -> None:
    one = HeldTime(held(0).quarters, EVEN[:1])
    power_w = saved(one, Worth(), MONDAY_S, MONDAY_S + DAY_S).event()["power_w"]
    assert isinstance(power_w, dict)
    assert (power_w["low"], power_w["high"]) == (None, None)
    assert saved(HeldTime(one.quarters, ()), Worth(), MONDAY_S, MONDAY_S + DAY_S).event()["power_w"] is None


def test_days_are_those_in_which_something_was_held() -> None:
    assert list(days(held(1, 2, 50))) == [
        (MONDAY_S, MONDAY_S + DAY_S),
        (MONDAY_S + 2 * DAY_S, MONDAY_S + 3 * DAY_S),
    ]
