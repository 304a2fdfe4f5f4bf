from __future__ import annotations

import polars as pl
import pytest
from tests.support.tables import study_frame

from bayop.analysis.per_request import derived, per_request


def test_counters_are_divided_by_the_requests_of_their_window() -> None:
    frame = study_frame().with_columns(
        qps=pl.lit(1000.0), duration_s=pl.lit(20.0), energy_window_s=pl.lit(10.0), energy_j=pl.lit(500.0),
        instructions=pl.lit(2e8), c1_entries=pl.lit(100.0),
    )  # fmt: skip
    table = per_request(frame)
    assert table["energy_uj_per_request"][0] == pytest.approx(50_000.0)
    assert table["instructions_per_request"][0] == pytest.approx(20_000.0)
    assert table["c1_entries_per_s"][0] == pytest.approx(10.0)
    assert derived(table) == ["energy_uj_per_request", "instructions_per_request", "c1_entries_per_s"]


def test_the_whole_window_counts_where_nothing_else_is_said() -> None:
    frame = study_frame().with_columns(
        qps=pl.lit(1000.0), duration_s=pl.lit(20.0), energy_window_s=pl.lit(None, pl.Float64), energy_j=pl.lit(500.0)
    )
    assert per_request(frame)["energy_uj_per_request"][0] == pytest.approx(25_000.0)


def test_a_round_trip_is_a_request() -> None:
    frame = study_frame().with_columns(
        message_bytes=pl.lit(64), roundtrips=pl.lit(5000.0), duration_s=pl.lit(0.1), energy_j=pl.lit(2.5)
    )
    assert per_request(frame)["energy_uj_per_request"][0] == pytest.approx(500.0)


def test_a_rate_of_interrupts_is_as_good_as_their_count() -> None:
    frame = study_frame().with_columns(qps=pl.lit(1000.0), duration_s=pl.lit(20.0), interrupts_per_s=pl.lit(500.0))
    assert per_request(frame)["interrupts_per_request"][0] == pytest.approx(0.5)
    counted = frame.with_columns(interrupts=pl.when(pl.col("trial") == 1).then(40_000.0))
    assert per_request(counted)["interrupts_per_request"].to_list()[:2] == pytest.approx([2.0, 0.5])
    closed = frame.with_columns(message_bytes=pl.lit(64), roundtrips=pl.lit(5000.0))
    assert per_request(closed)["interrupts_per_request"][0] == pytest.approx(2.0)


def test_what_was_not_sensed_is_not_derived() -> None:
    frame = study_frame()
    assert per_request(frame).columns == frame.columns
    with_window = frame.with_columns(duration_s=pl.lit(20.0), instructions=pl.lit(1e9))
    assert derived(per_request(with_window)) == []
