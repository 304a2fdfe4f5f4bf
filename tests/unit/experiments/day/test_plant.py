from __future__ import annotations

from collections.abc import Sequence

import pytest

from bayop.experiments.day.plant import CurvePlant
from bayop.load.curve import LoadCurve
from bayop.measurement import Measurement
from bayop.space import FREQ_MHZ, RX_USECS, Setting
from bayop.target.oracle import Question
from bayop.testing.plants import FakeOracle

SETTING: Setting = {RX_USECS: 50, FREQ_MHZ: 2000}


class Counting(FakeOracle):
    """Remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Question] = []

    def answer(self, questions: Sequence[Question], *, requests: int, threads: int) -> list[Measurement]:
        self.asked += questions
        return super().answer(questions, requests=requests, threads=threads)


@pytest.fixture
def oracle() -> Counting:
    return Counting()


@pytest.fixture
def plant(oracle: Counting) -> CurvePlant:
    return CurvePlant(oracle, LoadCurve("two", (1e5, 2e5)), seed=7, requests=1000)


def test_one_modelled_window_stands_until_something_changes(oracle: Counting, plant: CurvePlant) -> None:
    first = plant.measure(0, 60)
    assert plant.measure(60, 60)["power_w"] == first["power_w"]
    plant.measure(3600, 60)
    plant.apply(SETTING)
    plant.measure(3660, 60)
    plant.apply(SETTING)
    plant.measure(3720, 60)
    assert [(c.qps, c.setting is None, c.seed) for c in oracle.asked] == [
        (1e5, True, 7), (2e5, True, 8), (2e5, False, 9), (2e5, False, 10),
    ]  # fmt: skip


def test_energy_is_that_of_the_time_it_stands_for(plant: CurvePlant) -> None:
    window = plant.measure(0, 90)
    assert window["duration_s"] == 90
    assert window["energy_j"] == pytest.approx(window["power_w"] * 90)


def test_restore_is_the_default(oracle: Counting, plant: CurvePlant) -> None:
    plant.apply(SETTING)
    plant.restore()
    plant.measure(0, 10)
    assert oracle.asked[-1].setting is None


def test_a_day_can_be_ended_before_its_next_window(oracle: Counting) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    plant = CurvePlant(oracle, LoadCurve("one", (1e5,)), seed=0, requests=1, check=stop)
    with pytest.raises(KeyboardInterrupt):
        plant.measure(0, 10)
    assert oracle.asked == []
