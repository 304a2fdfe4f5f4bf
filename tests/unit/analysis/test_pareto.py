from __future__ import annotations

import time

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tables import study_frame
from tests.unit.analysis.conftest import Repeated

from bayop.analysis.cells import cells
from bayop.analysis.pareto import front, likely_front, on_front
from bayop.analysis.trade_off import TradeOff

POWER = TradeOff("p99_us", "power_w")
points = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=40)


def as_frame(pairs: list[tuple[int, int]]) -> pl.DataFrame:
    x, y = zip(*pairs, strict=True)
    return pl.DataFrame({"p99_us": x, "power_w": y, "row": range(len(x))}).cast({"p99_us": pl.Float64})


def dominated(pair: tuple[float, float], pairs: list[tuple[int, int]]) -> bool:
    return any(x <= pair[0] and y <= pair[1] and (x, y) != pair for x, y in pairs)


@given(pairs=points)
def test_the_front_is_what_nothing_beats(pairs: list[tuple[int, int]]) -> None:
    edge = front(as_frame(pairs), POWER)
    members = list(zip(edge["p99_us"], edge["power_w"], strict=True))
    assert sorted(members) == sorted({pair for pair in pairs if not dominated(pair, pairs)})
    assert members == sorted(members)


@given(pairs=points)
def test_both_ways_to_the_front_agree(pairs: list[tuple[int, int]]) -> None:
    x, y = (np.array(v, dtype=float) for v in zip(*pairs, strict=True))
    assert on_front(x, y).tolist() == front(as_frame(pairs), POWER)["row"].to_list()


def test_a_large_table_has_the_front_of_its_points() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.lognormal(5, 0.5, (2, 100_000)).round(1)
    frame = pl.DataFrame({"p99_us": x, "power_w": y, "row": range(len(x))})
    assert front(frame, POWER)["row"].to_list() == on_front(x, y).tolist()


def test_nulls_are_on_no_front() -> None:
    frame = pl.DataFrame({"p99_us": [1.0, 2.0, None], "power_w": [None, 2.0, 1.0]})
    assert front(frame, POWER)["p99_us"].to_list() == [2.0]


def test_without_noise_the_front_is_certain() -> None:
    likely = likely_front(cells(study_frame(), ["power_w", "p99_us"]), POWER, seed=0)
    assert likely["front"].all()
    assert likely["on_front"].null_count() == likely.height


def test_the_share_of_draws_says_how_sure_a_place_is(repeated: Repeated) -> None:
    table = cells(repeated(repeats=3, sd=0.02), ["power_w", "p99_us"])
    likely = likely_front(table, POWER, seed=0)
    sure = likely.filter(pl.col("front"))
    assert front(table, POWER).height == sure.height
    assert likely.filter(~pl.col("front"))["on_front"].max() < 1.0  # type: ignore[operator]
    assert likely["on_front"].max() > 0.9  # type: ignore[operator]
    assert likely_front(table, POWER, seed=0).equals(likely)
    assert likely["p99_us"].is_sorted()


def test_two_equal_settings_share_a_place() -> None:
    """Twins with the same noise take turns."""
    frame = study_frame(delays=(2, 4), freqs=(2900,)).filter(pl.col("trial") > 1).with_columns(
        p99_us=pl.lit(100.0), power_w=pl.lit(50.0), **{"relative_sd.p99_us": pl.lit(0.02)},
        **{"relative_sd.power_w": pl.lit(0.02)},
    )  # fmt: skip
    likely = likely_front(cells(frame, ["power_w", "p99_us"]), POWER, seed=1, draws=2000)
    # In half of the draws one beats the other in both; in the other half both are on the front.
    assert likely["on_front"].to_list() == pytest.approx([0.75, 0.75], abs=0.04)


def test_every_condition_has_a_front_of_its_own() -> None:
    frame = pl.concat([study_frame(), study_frame(study="b", qps=2000.0)])
    likely = likely_front(cells(frame, ["power_w", "p99_us"]), POWER, seed=0)
    assert set(likely["qps_offered"]) == {1000.0, 2000.0}


def test_a_million_distinct_settings_take_little_time() -> None:
    """In processor time, because the machine may be busy; bench/analysis measures ten million."""
    rng = np.random.default_rng(0)
    size = 1_000_000
    frame = pl.DataFrame(
        {
            "app": "memcached",
            "asked.nic.rx_usecs": np.arange(size) * 1e-3,
            "power_w": rng.lognormal(4, 0.3, size),
            "p99_us": rng.lognormal(5, 0.5, size),
        }
    ).with_columns(pl.lit(0.01).alias("relative_sd.p99_us"), pl.lit(0.01).alias("relative_sd.power_w"))
    began = time.process_time()
    likely = likely_front(cells(frame, ["power_w", "p99_us"]), POWER, seed=0)
    assert time.process_time() - began < 3.0
    assert likely["front"].sum() == on_front(frame["p99_us"].to_numpy(), frame["power_w"].to_numpy()).size
