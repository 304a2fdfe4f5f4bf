from __future__ import annotations

import math

import polars as pl
import pytest
from tests.support.tables import study_frame
from tests.unit.analysis.conftest import Repeated

from bayop.analysis.best import best_settings, defaults, meets
from bayop.analysis.cells import cells
from bayop.analysis.trade_off import TradeOff

POWER = TradeOff("p99_us", "power_w")
QUANTITIES = ["power_w", "p99_us"]


def test_the_best_is_the_cheapest_that_meets_the_limit() -> None:
    table = cells(study_frame(), QUANTITIES)
    limit_us = table["p99_us"].median()
    assert isinstance(limit_us, float)
    best = best_settings(table, POWER, limit_us).row(0, named=True)
    under = table.filter(pl.col("p99_us") < limit_us)
    assert best["power_w"] == under["power_w"].min()


def test_a_setting_on_the_edge_is_not_trusted(repeated: Repeated) -> None:
    table = cells(repeated(repeats=3, sd=0.05), QUANTITIES)
    cheapest = best_settings(table, POWER, math.inf).row(0, named=True)
    limit_us = cheapest["p99_us"]
    assert limit_us not in best_settings(table, POWER, limit_us * 1.0001)["p99_us"].to_list()
    assert meets(table.filter(pl.col("p99_us") == limit_us), "p99_us", limit_us) == pytest.approx(0.5)


def test_more_room_is_more_trust(repeated: Repeated) -> None:
    table = cells(repeated(), QUANTITIES)
    shares = [meets(table, "p99_us", limit).sum() for limit in (100.0, 300.0, 1000.0, math.inf)]
    assert shares == sorted(shares)
    assert shares[-1] == table.height


def test_rivals_are_as_cheap_within_noise(repeated: Repeated) -> None:
    quiet, noisy = (
        best_settings(cells(repeated(sd=sd), QUANTITIES), POWER, math.inf)["rivals"].item() for sd in (0.001, 0.5)
    )
    assert quiet < noisy


def test_without_repeats_nothing_is_claimed_of_the_noise(repeated: Repeated) -> None:
    best = best_settings(cells(study_frame(), QUANTITIES), POWER, 1000.0)
    assert best.select("meets", "rivals").rows() == [(None, None)]
    assert best_settings(cells(repeated(), QUANTITIES), POWER, 1000.0)["meets"][0] > 0.9
    assert best_settings(cells(study_frame(), QUANTITIES), POWER, math.inf)["meets"][0] == 1.0, "nothing is bounded"


def test_no_setting_meets_an_impossible_limit() -> None:
    best = best_settings(cells(study_frame(), QUANTITIES), POWER, 0.001)
    assert best.is_empty()
    assert {"meets", "rivals"} <= set(best.columns)


def test_the_default_asks_for_nothing() -> None:
    assert defaults(cells(study_frame(), QUANTITIES)).height == 1
