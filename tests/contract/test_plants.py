"""What a controller relies on, of every plant that stands for a server."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bayop.control.controller import Controller
from bayop.control.drive import drive
from bayop.control.guard import Guard
from bayop.control.ledger import Ledger
from bayop.control.policy import Policy
from bayop.control.triggers import parse_trigger
from bayop.experiments.day.plant import CurvePlant
from bayop.load.curve import LoadCurve
from bayop.objective import Objective
from bayop.optimize import make_optimizer
from bayop.slo import Slo
from bayop.space import FREQ_MHZ, RX_USECS, Setting
from bayop.target.plant import Plant
from bayop.testing.fakes import QUANTITIES
from bayop.testing.plants import CuttingPlant, FakeOracle, FakePlant
from bayop.units import HOUR_S

CURVE = LoadCurve("two", (1e5, 4e5))
SLOW: Setting = {RX_USECS: 400, FREQ_MHZ: 1300}


@pytest.fixture(params=["a curve's", "a fake"])
def plant(request: pytest.FixtureRequest) -> Plant:
    if request.param == "a fake":
        return FakePlant(CURVE.at)
    return CurvePlant(FakeOracle(noise=0.0), CURVE, seed=0, requests=1000)


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


@pytest.mark.parametrize(
    "cuts",
    [
        pytest.param(lambda t: t < 5.0, id="the first trial"),
        pytest.param(lambda t: 0.0 < t < 30.0, id="a later trial"),
        pytest.param(lambda t: 600.0 <= t < 660.0, id="a hold"),
        pytest.param(lambda t: 600.0 <= t < 3000.0 and int(t) % 7 < 3, id="again and again"),
        pytest.param(lambda t: t >= 1200.0, id="everything from then on"),
    ],
)
@pytest.mark.parametrize("shows", [frozenset[str](), frozenset({"p50_us", "p99_us"}), QUANTITIES])
def test_the_controller_goes_on_when_windows_are_cut_short(
    plant: Plant, cuts: Callable[[float], bool], shows: frozenset[str]
) -> None:
    slo = Slo.parse("p99<300us")
    books = Ledger()
    controller = Controller(
        Policy(
            plant.space.without_auto(),
            slo,
            Objective.parse("power", slo),
            parse_trigger("clock,breach"),
            Guard(),
            max_trials=3,
        ),
        lambda problem, number: make_optimizer("random", problem, seed=number),
        end_s=1.2 * HOUR_S,
        on_window=books.add,
        on_search=books.searches.append,
    )
    assert drive(controller, CuttingPlant(plant, cuts, shows=shows), 0.0)
    assert books.duration_s == pytest.approx(1.2 * HOUR_S)
    cut = [window for window in books.windows if window.cut_short is not None]
    assert cut
    assert not any(window.meets_slo for window in cut)
    assert books.energy_j > 0
    assert len(books.searches) > 1
