from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest
from tests.support.interrupt_logs import LINES, state_of, write_lines

from bayop.interrupts.histogram import RELATIVE_ERROR
from bayop.interrupts.log import open_log
from bayop.interrupts.query import summarise


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
