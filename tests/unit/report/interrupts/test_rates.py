from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.interrupt_logs import write_lines

from bayop.interrupts.log import open_log
from bayop.interrupts.query import summarise
from bayop.interrupts.summary import Summary
from bayop.report.interrupts.rates import Rates, rates_of


def test_rates_add_up_to_the_totals(published: dict[Path, Summary]) -> None:
    for summary in published.values():
        rates = rates_of(summary)
        known = np.isfinite(rates.power_w)
        energy_j = summary.totals["energy_units"] * summary.layout.energy_unit_j
        sampled_s = summary.sampled_ticks / summary.layout.tick_hz
        assert np.average(rates.power_w[known]) == pytest.approx(energy_j / sampled_s, rel=0.02)
        assert rates.start_s[0] <= 0.0
        assert np.all(rates.interrupts_per_s[np.isfinite(rates.interrupts_per_s)] > 0.0)


def steady(path: Path, *, seconds: float = 1.0) -> Summary:
    """A core at 500 MHz of a clock of 1 GHz that is half idle: an interrupt of 100 bytes and a sample each ms, 10 W."""
    lines = []
    for i in range(1, int(1000 * seconds) + 1):
        counters = f"{i * 1_000_000} {i * 250_000} {i * 500_000} {i * 1000}"
        lines.append(f"{i} 1 100 1 50 {counters} 0 0 0 0 0 {i * 10} {i * 1_000_000}")
    return summarise(open_log(write_lines(path, lines), tsc_hz=1_000_000_000, energy_unit_j=1e-3))


def test_rates_of_a_steady_log_are_the_same_in_every_bin(tmp_path: Path) -> None:
    rates = rates_of(steady(tmp_path / "log"))
    assert len(rates.start_s) > 20
    for name, value in (
        ("interrupts_per_s", 1000.0),
        ("spacing_us", 1000.0),
        ("rx_bytes_per_s", 100_000.0),
        ("tx_bytes_per_s", 50_000.0),
        ("power_w", 10.0),
        ("instructions_per_s", 1e9),
        ("llc_misses_per_s", 1e6),
        ("utilization", 0.5),
        ("freq_mhz", 500.0),
    ):
        # The first record has no spacing of its own, so its bin counts one more.
        np.testing.assert_allclose(getattr(rates, name)[1:], value, rtol=1e-9, err_msg=name)


def test_bins_follow_each_other_without_a_gap_and_hold_eight_samples(tmp_path: Path) -> None:
    rates = rates_of(steady(tmp_path / "log"))
    assert np.diff(rates.start_s) == pytest.approx(rates.width_s[:-1])
    # Eight samples take 8 ms; a bin is the least multiple of 2^22 ns that is as long.
    assert rates.width_s[0] == pytest.approx(2 * 2**22 / 1e9)
    assert rates.start_s[0] <= 0.0 <= rates.start_s[0] + rates.width_s[0]
    assert rates.start_s[-1] <= 0.999 <= rates.start_s[-1] + rates.width_s[-1]


def test_what_says_nothing_is_no_zero(tmp_path: Path) -> None:
    lines = ["1 1 100 1 50 0 0 0 0 0 0 0 0 0 0 1000000", "2 1 100 1 50 0 0 0 0 0 0 0 0 0 0 9000000"]
    rates = rates_of(summarise(open_log(write_lines(tmp_path / "log", lines))))
    for name in ("power_w", "instructions_per_s", "utilization", "freq_mhz"):
        assert np.isnan(getattr(rates, name)).all()
    assert np.isfinite(rates.interrupts_per_s).sum() == 1


def test_rows_are_in_the_order_of_the_columns(tmp_path: Path) -> None:
    rates = rates_of(steady(tmp_path / "log"))
    rows = list(rates.rows())
    assert len(rows) == len(rates.start_s)
    assert dict(zip(Rates.COLUMNS, rows[5], strict=True)) == {
        name: pytest.approx(getattr(rates, name)[5]) for name in Rates.COLUMNS
    }
