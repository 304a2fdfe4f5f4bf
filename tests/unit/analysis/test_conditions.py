from __future__ import annotations

import polars as pl
from tests.support.tables import study_frame

from bayop.analysis.conditions import (
    by_condition,
    by_workload,
    delay_and_frequency,
    is_closed_loop,
    is_default,
    over_delay,
    split,
)


def two_systems() -> pl.DataFrame:
    other = study_frame(study="other").with_columns(os=pl.lit("ebbrt"))
    return pl.concat([study_frame(), other])


def test_systems_share_a_workload_and_are_conditions_of_their_own() -> None:
    assert len(list(by_workload(two_systems()))) == 1
    assert [part.keys["os"] for part in by_condition(two_systems())] == ["ebbrt", "linux"]


def test_loads_are_workloads_in_their_order() -> None:
    frame = pl.concat([study_frame(qps=q, study=str(q)) for q in (3000.0, 1000.0, 2000.0)])
    assert [part.keys["qps_offered"] for part in by_workload(frame)] == [1000.0, 2000.0, 3000.0]


def test_parts_hold_every_row_once_and_nulls_are_a_value() -> None:
    frame = two_systems().with_columns(vantage=pl.when(pl.col("os") == "linux").then(pl.lit("client")))
    parts = list(by_condition(frame))
    assert sum(part.rows.height for part in parts) == frame.height
    assert {part.keys["vantage"] for part in parts} == {None, "client"}


def test_a_table_without_the_columns_is_one_part() -> None:
    assert [part.keys for part in split(pl.DataFrame({"x": [1, 2]}), ("os",))] == [{}]


def test_the_default_asks_for_nothing() -> None:
    frame = study_frame()
    assert frame.filter(is_default(frame)).height == 1


def test_pairs_leave_out_the_default_and_other_knobs() -> None:
    frame = study_frame()
    capped = frame.with_columns(pl.lit(55.0).alias("asked.power.cap_w"))
    assert delay_and_frequency(frame).height == 9
    assert delay_and_frequency(capped).is_empty()
    assert delay_and_frequency(frame.drop("asked.nic.rx_usecs")).is_empty()


def test_a_fixed_delay_may_leave_the_frequency_alone() -> None:
    frame = study_frame()
    assert over_delay(frame).height == 9
    alone = over_delay(frame.drop("asked.cpu.freq_mhz"))
    assert alone.height == 9
    assert alone["asked.cpu.freq_mhz"].null_count() == 9
    assert over_delay(frame.drop("asked.nic.rx_usecs")).is_empty()


def test_a_message_size_makes_a_closed_loop() -> None:
    frame = study_frame()
    assert not is_closed_loop(frame)
    assert not is_closed_loop(frame.with_columns(message_bytes=pl.lit(None, pl.Int64)))
    assert is_closed_loop(frame.with_columns(message_bytes=pl.lit(64)))
