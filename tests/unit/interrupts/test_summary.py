from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

from bayop.errors import InputError
from bayop.interrupts import log as log_module
from bayop.interrupts.histogram import RELATIVE_ERROR
from bayop.interrupts.log import open_log
from bayop.interrupts.numbers import describe, describe_all
from bayop.interrupts.query import join, summarise, summarise_piece
from bayop.testing.interrupt_logs import LINES, drawn_lines, state_of, write_lines


def test_a_log_that_was_added_up_by_hand(tmp_path: Path) -> None:
    summary = summarise(open_log(write_lines(tmp_path / "log", LINES)))
    assert (summary.records, summary.empty, summary.samples, summary.intervals) == (6, 1, 2, 1)
    assert {name: h.sum for name, h in summary.traffic.items()} == {
        "rx_descriptors": 8, "rx_bytes": 8714, "tx_descriptors": 7, "tx_bytes": 204,
    }  # fmt: skip
    assert summary.spacing.sum == 5_829_000
    assert summary.sampled_ticks == 2_900_000
    assert summary.totals == {
        "instructions": 700_000, "cycles": 2_000_000, "ref_cycles": 2_900_000, "llc_misses": 40,
        "energy_units": 300, "c1": 2, "c1e": 0, "c3": 0, "c6": 0, "c7": 3,
    }  # fmt: skip


def test_the_energy_counter_wraps_at_32_bits(tmp_path: Path) -> None:
    numbers = describe(summarise(open_log(write_lines(tmp_path / "log", LINES))))
    counters = numbers["counters"]
    assert isinstance(counters, dict)
    assert counters["energy_j"] == 300 * 2.0**-16
    assert counters["utilization"] == pytest.approx(1.0)


def test_the_counters_of_the_pmu_wrap_at_48_bits(tmp_path: Path) -> None:
    lines = list(LINES)
    lines[1] = lines[1].replace(" 1000000 ", f" {2**48 - 300_000} ")
    lines[4] = lines[4].replace(" 1700000 ", " 400000 ")
    assert summarise(open_log(write_lines(tmp_path / "log", lines))).totals["instructions"] == 700_000


def test_machines_may_differ(tmp_path: Path) -> None:
    log = open_log(write_lines(tmp_path / "log", LINES), tsc_hz=1_000_000_000, energy_unit_j=1e-3)
    numbers = describe(summarise(log))
    assert numbers["span_s"] == pytest.approx(0.005829)
    counters = numbers["counters"]
    assert isinstance(counters, dict)
    assert counters["energy_j"] == pytest.approx(0.3)


@pytest.mark.parametrize(("fields", "states"), [(17, 6), (16, 5), (14, 3)])
def test_the_layouts_of_intlog(tmp_path: Path, fields: int, states: int) -> None:
    lines = []
    for line in LINES:
        cells = line.split(" ")
        idle = ["0", *cells[9:14]][-states:]
        lines.append(" ".join([*cells[:9], *idle, *cells[14:]]))
    log = open_log(write_lines(tmp_path / "log", lines))
    assert len(log.layout.idle_states) == states
    summary = summarise(log)
    assert summary.totals["energy_units"] == 300
    # EbbRT counts entries since the record before, Linux since boot.
    assert summary.totals["c7"] == (5 if fields == 14 else 3)


def test_a_driver_that_keeps_a_record_per_sample_is_pointed_out(tmp_path: Path) -> None:
    samples = [LINES[1], LINES[4]]
    assert describe(summarise(open_log(write_lines(tmp_path / "log", samples))))["one_record_per_sample"]


@pytest.mark.parametrize("block_bytes", [300, 2000, 2**20])
@pytest.mark.parametrize("piece_bytes", [1000, 3000, 2**20])
def test_the_summary_does_not_depend_on_how_the_log_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int, piece_bytes: int
) -> None:
    log = open_log(write_lines(tmp_path / "log", drawn_lines(120, seed=1)))
    whole = state_of(summarise(log))
    monkeypatch.setattr(log_module, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(log_module, "PIECE_BYTES", piece_bytes)
    pieces = log.pieces()
    assert (len(pieces) > 1) == (piece_bytes < 2**20)
    assert state_of(summarise(log)) == whole
    assert state_of(join(log, [(piece, summarise_piece(log, piece)) for piece in pieces])) == whole


def test_compressed_text_and_a_missing_last_newline_are_the_same_log(tmp_path: Path) -> None:
    text = ("\n".join(LINES)).encode()
    plain, packed = tmp_path / "a", tmp_path / "b"
    plain.write_bytes(text)
    packed.write_bytes(gzip.compress(text))
    assert state_of(summarise(open_log(plain))) == state_of(summarise(open_log(packed)))


@pytest.mark.parametrize(
    "name",
    [
        "ebbrt_static_8192B_itr6us_2200MHz",
        "linux_default_64B",
        "linux_default_8192B",
        "linux_static_8192B_itr8us_2500MHz",
    ],
)
def test_every_number_of_the_published_summary_is_recomputed(data: Path, name: str) -> None:
    log = open_log(data / f"interrupts_netpipe_{name}.csv.gz")
    summary = summarise(log)
    published = pl.read_csv(data / "interrupts_netpipe_summary.csv").row(by_predicate=pl.col("log") == name, named=True)
    assert summary.records == published["entries"]
    assert summary.samples == published["counter_samples"]
    assert summary.traffic["rx_bytes"].sum == published["rx_bytes"]
    assert summary.traffic["tx_bytes"].sum == published["tx_bytes"]
    # Joules with five decimals in both.
    assert summary.totals["energy_units"] / 1e5 == pytest.approx(published["log_pkg1_energy_j"], abs=1e-9)
    # Times count from the start of the workload, which ends a little after its last interrupt.
    assert published["workload_s"] == pytest.approx(summary.ends.times[1] / 1e9, abs=1.5e-4)
    median_us = (summary.spacing.quantile(0.5) or 0.0) / 1e3
    assert median_us == pytest.approx(published["median_gap_us"], rel=RELATIVE_ERROR, abs=0.005)


def test_logs_are_added_up_when_their_clocks_agree(tmp_path: Path, data: Path) -> None:
    small = summarise(open_log(write_lines(tmp_path / "log", LINES)))
    both = describe_all([small, small])
    assert both["records"] == 12
    assert both["spacing"] == describe(small)["spacing"]
    published = summarise(open_log(data / "interrupts_netpipe_linux_default_64B.csv.gz"))
    with pytest.raises(InputError, match="clocks tick alike"):
        describe_all([small, published])
