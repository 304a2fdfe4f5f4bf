from __future__ import annotations

import pytest

from bayop.control.ledger import Window
from bayop.control.timed import TimedTarget
from bayop.measurement import Measurement
from bayop.slo import Slo
from bayop.space import RX_USECS, Choices, Knob, Setting, Space

SLO = Slo.parse("p99<500us")


class Plant:
    """A server whose latency is its delay and whose load grows by 10 requests/s in a second."""

    description = "a growing server"
    space = Space((Knob(RX_USECS, Choices((100, 600))),))
    quantities = frozenset({"power_w", "p99_us"})

    def __init__(self) -> None:
        self.setting: Setting | None = None

    def load_at(self, time_s: float) -> float:
        return 1000.0 + 10.0 * time_s

    def apply(self, setting: Setting) -> Setting:
        self.setting = {RX_USECS: float(setting[RX_USECS]) + 1.0}
        return self.setting

    def measure(self, start_s: float, duration_s: float) -> Measurement:
        assert self.setting is not None
        return Measurement({"power_w": start_s + duration_s, "p99_us": float(self.setting[RX_USECS])})

    def restore(self) -> None:
        self.setting = None


def target(plant: Plant, books: list[Window]) -> TimedTarget:
    return TimedTarget(plant, SLO, 100.0, 15.0, 7, on_window=books.append)


def test_it_is_the_plant_at_one_moment() -> None:
    plant = Plant()
    timed = target(plant, [])
    assert (timed.description, timed.space, timed.quantities) == (plant.description, plant.space, plant.quantities)
    assert timed.qps == 2000.0, "the load when the search begins, for all of it"
    assert timed.baseline() is None


def test_every_trial_takes_its_time_and_goes_into_the_books() -> None:
    books: list[Window] = []
    timed = target(Plant(), books)
    for rx_usecs in (100, 600):
        timed.apply({RX_USECS: rx_usecs})
        timed.measure()
    assert timed.now_s == 130.0
    assert [(w.start_s, w.duration_s, w.phase, w.search) for w in books] == [
        (100.0, 15.0, "trial", 7),
        (115.0, 15.0, "trial", 7),
    ]
    assert [w.qps for w in books] == [2000.0, 2150.0], "the load of the moment"
    assert [w.meets_slo for w in books] == [True, False]
    assert [w.setting for w in books] == [{RX_USECS: 101.0}, {RX_USECS: 601.0}], "what was in effect"


def test_a_trial_is_the_plants_own_measurement() -> None:
    timed = target(Plant(), [])
    assert timed.apply({RX_USECS: 100}) == {RX_USECS: 101.0}
    assert timed.measure()["power_w"] == pytest.approx(115.0)


def test_restoring_is_the_plants() -> None:
    plant, books = Plant(), list[Window]()
    timed = target(plant, books)
    timed.apply({RX_USECS: 600})
    timed.restore()
    assert plant.setting is None
    assert books == [], "what is not measured takes no time"
