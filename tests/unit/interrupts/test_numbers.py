from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.interrupt_logs import LINES, PUBLISHED_HEADER, PUBLISHED_ROWS, write_lines

from bayop.errors import InputError
from bayop.interrupts.histogram import Histogram
from bayop.interrupts.log import open_log
from bayop.interrupts.numbers import describe, describe_all, pooled, spacing
from bayop.interrupts.query import summarise


@pytest.fixture
def numbers(tmp_path: Path) -> Any:
    """The six records, read as if the clock ticked a thousand times a microsecond."""
    path = write_lines(tmp_path / "log", LINES)
    return describe(summarise(open_log(path, tsc_hz=1_000_000_000, energy_unit_j=1e-3)))


def test_a_driver_that_keeps_a_record_per_sample_is_pointed_out(tmp_path: Path) -> None:
    samples = [LINES[1], LINES[4]]
    assert describe(summarise(open_log(write_lines(tmp_path / "log", samples))))["one_record_per_sample"]


def test_logs_are_added_up_when_their_clocks_agree(tmp_path: Path, data: Path) -> None:
    small = summarise(open_log(write_lines(tmp_path / "log", LINES)))
    both = describe_all([small, small])
    assert both["records"] == 12
    assert both["spacing"] == describe(small)["spacing"]
    published = summarise(open_log(data / "interrupts_netpipe_linux_default_64B.csv.gz"))
    with pytest.raises(InputError, match="logs that are added up must have clocks that tick alike"):
        describe_all([small, published])


def test_spacing_is_in_microseconds(numbers: Any) -> None:
    # 2900, 29, 29, 2842 and 29 us.
    spacing = numbers["spacing"]
    assert spacing["mean_us"] == pytest.approx(5829 / 5)
    assert (spacing["least_us"], spacing["greatest_us"]) == pytest.approx((29, 2900))
    assert (spacing["p50_us"], spacing["p75_us"]) == pytest.approx((29, 2842), rel=0.004)
    assert spacing["p99_to_p1"] == pytest.approx(100, rel=0.004)
    assert spacing["variation"] == pytest.approx(np.std([2900, 29, 29, 2842, 29]) / (5829 / 5))


def test_traffic_is_what_an_interrupt_brings(numbers: Any) -> None:
    assert numbers["totals"] == {"rx_descriptors": 8, "rx_bytes": 8714, "tx_descriptors": 7, "tx_bytes": 204}
    assert numbers["per_interrupt"]["rx_descriptors"] == {
        "mean": 8 / 6, "p50": 0.0, "p99": 6.0, "greatest": 6, "share_with_any": 0.5,
    }  # fmt: skip
    assert (numbers["records"], numbers["empty_interrupts"], numbers["first_entry"]) == (6, 1, 0)
    assert numbers["span_s"] == pytest.approx(0.005829)
    assert not numbers["one_record_per_sample"]


def test_counters_are_over_the_time_between_the_samples(numbers: Any) -> None:
    # 2.9 ms, 300 units of 1 mJ, 2 million cycles of 2.9 million reference cycles, 700 000 instructions.
    counters = numbers["counters"]
    assert (counters["samples"], counters["sampled_s"]) == (2, pytest.approx(0.0029))
    assert counters["power_w"] == pytest.approx(0.3 / 0.0029)
    assert counters["utilization"] == pytest.approx(1.0)
    assert counters["mean_freq_mhz"] == pytest.approx(2000 / 2.9)
    assert counters["instructions_per_cycle"] == pytest.approx(0.35)
    assert counters["interrupts_per_s"] == pytest.approx(5 / 0.005829)
    interrupts = 5 / 0.005829 * 0.0029
    assert counters["instructions_per_interrupt"] == pytest.approx(700_000 / interrupts)
    assert counters["energy_per_interrupt_uj"] == pytest.approx(300_000 / interrupts)


def test_entries_into_idle_states_are_counted_by_the_second(numbers: Any) -> None:
    assert numbers["idle_states"]["c1"] == {"entries": 2, "entries_per_s": pytest.approx(2 / 0.0029)}
    assert numbers["idle_states"]["c6"] == {"entries": 0, "entries_per_s": 0.0}


def test_episodes_share_the_sampled_time(numbers: Any) -> None:
    busy, idle = numbers["episodes"]["busy"], numbers["episodes"]["idle"]
    assert (busy["count"], busy["share"]) == (1, 1.0)
    assert (busy["mean_ms"], busy["longest_ms"]) == pytest.approx((2.9, 2.9))
    assert idle == {"count": 0, "share": 0.0, "mean_ms": None, "longest_ms": 0.0}


def test_residencies_are_shares_of_the_sampled_time(tmp_path: Path) -> None:
    rows = [f"{row},{ticks}" for row, ticks in zip(PUBLISHED_ROWS, (0, "", 1_000_000), strict=True)]
    log = open_log(write_lines(tmp_path / "log.csv", [f"{PUBLISHED_HEADER},c7_residency_tsc_ticks_cum", *rows]))
    numbers: Any = describe(summarise(log))
    # 1 million ticks of 2.899999 GHz in the 1125.251 us between the samples.
    assert numbers["idle_states"]["c7"]["residency"] == pytest.approx(1e6 / 2.899999e9 / 1.125251e-3)


def test_without_samples_there_are_no_rates_and_no_zeros_in_their_place(tmp_path: Path) -> None:
    numbers: Any = describe(summarise(open_log(write_lines(tmp_path / "log", LINES[2:4]))))
    counters = numbers["counters"]
    assert counters["interrupts_per_s"] is not None
    assert {name for name, value in counters.items() if value is not None} == {
        "samples", "sampled_s", "interrupts_per_s",
    }  # fmt: skip
    assert set(numbers["idle_states"]["c7"].values()) == {None}
    assert set(numbers["episodes"]["busy"].values()) == set(numbers["episodes"]["idle"].values()) == {None}


def test_one_record_has_no_spacing(tmp_path: Path) -> None:
    numbers: Any = describe(summarise(open_log(write_lines(tmp_path / "log", LINES[:1]))))
    assert set(numbers["spacing"].values()) == {None}
    assert numbers["median_spacing_over_time"]["least_us"] is None
    assert numbers["counters"]["interrupts_per_s"] is None


def test_medians_over_time_lie_between_the_least_and_the_greatest(numbers: Any) -> None:
    medians = numbers["median_spacing_over_time"]
    # 5.829 ms in at most 256 bins of a power of two of nanoseconds.
    assert medians["stretch_ms"] == pytest.approx(2**15 / 1e6)
    assert (medians["least_us"], medians["greatest_us"]) == pytest.approx((29, 2900), rel=1 / 16)


def test_medians_over_time_lie_within_what_was_seen(tmp_path: Path) -> None:
    lines = [line for line in LINES if line]
    numbers: Any = describe(summarise(open_log(write_lines(tmp_path / "log", lines[:2]))))
    medians, spacing = numbers["median_spacing_over_time"], numbers["spacing"]
    assert medians["least_us"] == medians["greatest_us"] == spacing["mean_us"]
    assert medians["relative_error"] == 1 / 16


def test_pooled_histograms_count_everything() -> None:
    one, other = Histogram(), Histogram()
    one.add(np.array([1, 2]))
    other.add(np.array([6]))
    whole = pooled([one, other])
    assert (whole.count, whole.sum, whole.least, whole.greatest) == (3, 9, 1, 6)
    assert (one.count, pooled([]).count) == (2, 0)


def test_a_spacing_of_zero_has_no_ratio(tmp_path: Path) -> None:
    log = open_log(write_lines(tmp_path / "log", LINES))
    gaps = Histogram()
    gaps.add(np.array([0, 0, 100]))
    assert spacing(gaps, log.layout)["p99_to_p1"] is None


def test_logs_add_up(tmp_path: Path) -> None:
    logs = [summarise(open_log(write_lines(tmp_path / str(i), lines))) for i, lines in enumerate((LINES, LINES[:3]))]
    both: Any = describe_all(logs)
    assert (both["logs"], both["records"], both["empty_interrupts"]) == (2, 9, 2)
    assert both["totals"]["rx_bytes"] == 8714 + 60
    assert "counters" not in both
