"""What a controller relies on, of every plant that stands for a server."""

from __future__ import annotations

import pytest

from bayop.experiments.day.plant import CurvePlant
from bayop.load.curve import LoadCurve
from bayop.space import FREQ_MHZ, RX_USECS, Setting
from bayop.target.plant import Plant
from bayop.testing.plants import FakeMachine, FakePlant
from bayop.units import HOUR_S

CURVE = LoadCurve("two", (1e5, 4e5))
SLOW: Setting = {RX_USECS: 400, FREQ_MHZ: 1300}


@pytest.fixture(params=["a curve's", "a fake"])
def plant(request: pytest.FixtureRequest) -> Plant:
    if request.param == "a fake":
        return FakePlant(CURVE.at)
    return CurvePlant(FakeMachine(noise=0.0), CURVE, seed=0, requests=1000)


def test_it_starts_in_its_default_and_is_put_back_there_more_than_once(plant: Plant) -> None:
    default = plant.measure(0.0, 1.0)["p99_us"]
    plant.apply(SLOW)
    assert plant.measure(1.0, 1.0)["p99_us"] > default
    for _ in range(2):
        plant.restore()
        assert plant.measure(2.0, 1.0)["p99_us"] == default


def test_what_is_in_effect_is_returned_and_stays_until_the_next(plant: Plant) -> None:
    assert dict(plant.apply(SLOW)) == SLOW
    first, second = (plant.measure(start_s, 1.0) for start_s in (0.0, 1.0))
    assert first.quantities == second.quantities


def test_time_is_an_argument(plant: Plant) -> None:
    """An hour passes at once, the load is that of the asked moment, and the power of a window lasts as long as it."""
    assert [plant.load_at(hour * HOUR_S) for hour in (0.5, 1.5, 0.5)] == [1e5, 4e5, 1e5]
    quiet, busy = plant.measure(0.5 * HOUR_S, 60.0), plant.measure(1.5 * HOUR_S, 60.0)
    assert (quiet["qps"], busy["qps"]) == (1e5, 4e5)
    assert busy["power_w"] > quiet["power_w"]
    assert busy["energy_j"] == pytest.approx(60.0 * busy["power_w"])
    assert busy["duration_s"] == 60.0


def test_its_measurements_hold_what_it_says(plant: Plant) -> None:
    assert set(plant.measure(0.0, 1.0).quantities) == plant.quantities
    assert {"power_w", "p99_us"} <= plant.quantities
