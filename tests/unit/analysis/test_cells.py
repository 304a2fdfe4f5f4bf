from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.tables import study_frame
from tests.unit.analysis.conftest import Repeated

from bayop.analysis.cells import POOL_DOF, cells, relative_error
from bayop.errors import InputError

DELAY, FREQUENCY = "asked.nic.rx_usecs", "asked.cpu.freq_mhz"


def test_means_and_pooled_errors(repeated: Repeated) -> None:
    """A setting's error is what its own repeats and those of all settings show together."""
    frame = repeated(repeats=3)
    table = cells(frame, ["power_w"])
    assert table.height == 10
    assert table["repeats"].to_list() == [3] * 10
    groups = frame.group_by(DELAY, FREQUENCY).agg(m=pl.col("power_w").mean(), s=pl.col("power_w").std())
    pooled = groups.filter(pl.col(DELAY).is_not_null()).select(((pl.col("s") / pl.col("m")) ** 2).mean()).item()
    both = table.join(groups, on=[DELAY, FREQUENCY])
    for row in both.iter_rows(named=True):
        own = (row["s"] / row["m"]) ** 2
        variance = (POOL_DOF * pooled + 2 * own) / (POOL_DOF + 2)
        assert row["power_w"] == pytest.approx(row["m"])
        assert row["se.power_w"] == pytest.approx(row["m"] * np.sqrt(variance / 3))
        assert row["dof.power_w"] == POOL_DOF + 2


def test_the_default_with_three_repeats_stands_alone(repeated: Repeated) -> None:
    frame = repeated(repeats=4)
    default = frame.filter(pl.col(DELAY).is_null())["power_w"]
    row = cells(frame, ["power_w"]).row(by_predicate=pl.col(DELAY).is_null(), named=True)
    assert row["se.power_w"] == pytest.approx(default.std() / 2)  # type: ignore[operator]
    assert row["dof.power_w"] == 3


def test_a_single_repeat_has_its_neighbours_noise(repeated: Repeated) -> None:
    frame = repeated(repeats=3)
    once = frame.filter((pl.col("repeat") == 0) | (pl.col(DELAY) != 2.0))
    table = cells(once, ["power_w"]).filter(pl.col(DELAY) == 2.0)
    assert table["repeats"].to_list() == [1, 1, 1]
    assert table["dof.power_w"].to_list() == [POOL_DOF] * 3
    assert relative_error(table, "power_w") == pytest.approx(relative_error(table, "power_w")[0])


def test_without_repeats_the_rows_own_deviations_count() -> None:
    frame = study_frame()
    assert cells(frame, ["power_w"])["se.power_w"].null_count() == 10
    stated = cells(frame.with_columns(pl.lit(0.01).alias("relative_sd.power_w")), ["power_w"])
    assert relative_error(stated, "power_w") == pytest.approx(0.01)
    assert stated["dof.power_w"].to_list() == [POOL_DOF] * 10


def test_distinct_settings_give_the_same_cells_as_grouping() -> None:
    frame = study_frame().with_columns(pl.lit(0.01).alias("relative_sd.p99_us"))
    doubled = pl.concat([frame, frame.with_columns(p99_us=pl.lit(None, pl.Float64))])
    alone, grouped = (cells(f, ["p99_us"]).sort(DELAY, FREQUENCY).drop("repeats") for f in (frame, doubled))
    assert alone.equals(grouped)


def test_nulls_are_no_repeats(repeated: Repeated) -> None:
    frame = repeated(repeats=3)
    frame = frame.with_columns(p99_us=pl.when(pl.col("repeat") > 0).then(pl.col("p99_us")))
    table = cells(frame, ["p99_us"])
    assert set(table["dof.p99_us"]) == {POOL_DOF + 1}


def test_a_quantity_of_zeros_has_no_error() -> None:
    frame = pl.concat([study_frame()] * 2).with_columns(c6_entries=pl.lit(0.0))
    table = cells(frame, ["c6_entries"])
    assert table["c6_entries"].to_list() == [0.0] * 10
    assert not table["se.c6_entries"].is_nan().any()


def test_medians_ignore_an_outlier(repeated: Repeated) -> None:
    frame = repeated(repeats=3, sd=0.0).with_columns(
        power_w=pl.when(pl.col("repeat") == 0).then(pl.col("power_w") * 10).otherwise(pl.col("power_w"))
    )
    truth = study_frame().sort(DELAY, FREQUENCY)["power_w"].to_list()
    table = cells(frame, ["power_w"], centre="median").sort(DELAY, FREQUENCY)
    assert table["power_w"].to_list() == pytest.approx(truth)


def test_an_unknown_quantity_is_refused_with_the_columns_that_there_are() -> None:
    with pytest.raises(InputError, match="p999_us") as refused:
        cells(study_frame(), ["p999_us"])
    assert refused.value.hint == f"its columns: {', '.join(study_frame().columns)}"


@settings(max_examples=30)
@given(seed=st.integers(0, 1000), repeats=st.integers(2, 5))
def test_the_order_of_trials_does_not_matter(seed: int, repeats: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pl.concat([study_frame()] * repeats)
    frame = frame.with_columns(power_w=pl.col("power_w") * pl.Series(rng.lognormal(0, 0.05, frame.height)))
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=seed)
    one, other = (cells(f, ["power_w"]).sort(DELAY, FREQUENCY) for f in (frame, shuffled))
    for name in ("power_w", "se.power_w"):
        assert one[name].to_list() == pytest.approx(other[name].to_list())
