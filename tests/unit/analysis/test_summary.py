from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from tests.support.tables import study_frame

from bayop.analysis.summary import ANY_TIME, NO_SLOWER, left_out, summarize
from bayop.errors import InputError
from bayop.slo import Slo
from bayop.study import open_study

SLO = Slo.parse("p99<500us")


def test_rows_that_are_not_trusted_are_counted_by_their_reason() -> None:
    frame = study_frame().with_columns(
        suspect=pl.when(pl.col("trial") < 3).then(pl.lit("itr_mislabelled")),
        cut_short=pl.when(pl.col("trial") == 4).then(pl.lit("p99 above 1 ms")),
    )
    assert left_out(frame) == {"itr_mislabelled": 2, "p99 above 1 ms": 1}
    assert left_out(study_frame()) == {}
    assert summarize(frame, SLO, seed=0)[0].cells.height == 7


def test_a_study_without_a_trusted_trial_is_refused() -> None:
    with pytest.raises(InputError, match="trusted"):
        summarize(study_frame().with_columns(suspect=pl.lit("itr_mislabelled")), SLO, seed=0)


def test_an_slo_on_a_quantile_that_nobody_measured_is_refused() -> None:
    with pytest.raises(InputError, match="p999_us"):
        summarize(study_frame(), Slo.parse("p99.9<1ms"), seed=0)


def test_a_workload_without_power_is_refused_with_the_columns_that_it_has() -> None:
    silo = study_frame(study="silo").with_columns(app=pl.lit("silo"), power_w=pl.lit(None, pl.Float64))
    with pytest.raises(
        InputError, match=r"no trial of .*app silo.* has power_w; trials must have p99_us and"
    ) as refused:
        summarize(pl.concat([study_frame(), silo]), SLO, seed=0)
    measured = [name for name in study_frame().columns if name != "power_w"]
    assert refused.value.hint == f"columns with values: {', '.join(measured)}"


def test_a_default_without_power_is_no_default_to_compare_with() -> None:
    frame = study_frame().with_columns(power_w=pl.when(pl.col("trial") > 1).then(pl.col("power_w")))
    summary = summarize(frame, Slo.parse("p99<1ms"), seed=0)[0]
    assert not summary.savings
    assert [row["power_w"] for row in summary.best_alone] == summary.best["power_w"].to_list()


def test_open_and_closed_loops_are_analysed_side_by_side() -> None:
    closed = study_frame(study="netpipe").with_columns(
        app=pl.lit("netpipe"), qps_offered=pl.lit(None, pl.Float64), message_bytes=pl.lit(64),
        roundtrip_us=pl.col("p50_us"), energy_j=pl.col("power_w"), p99_us=pl.lit(None, pl.Float64),
    )  # fmt: skip
    summaries = summarize(pl.concat([study_frame(), closed], how="diagonal"), SLO, seed=0)
    assert [(s.keys["app"], s.slo is None) for s in summaries] == [("memcached", False), ("netpipe", True)]
    assert summaries[1].savings[-1].under == ANY_TIME


@pytest.mark.parametrize(
    ("app", "load", "saving", "setting"),
    [
        ("memcached", 600_000.0, 0.433, {"nic.rx_usecs": 300.0, "cpu.freq_mhz": 1700.0, "power.cap_w": 95.0}),
        ("silo", 200_000.0, 0.180, {"nic.rx_usecs": 100.0, "cpu.freq_mhz": 2400.0, "power.cap_w": 55.0}),
    ],
)
def test_published_open_loops(data: Path, app: str, load: float, saving: float, setting: dict[str, float]) -> None:
    """What the raw data say of Linux at the higher load under p99 < 500 us."""
    summaries = summarize(open_study(data / f"study_{app}.csv"), SLO, seed=0)
    summary = next(s for s in summaries if s.keys["qps_offered"] == load)
    linux = [s for s in summary.savings if s.condition["os"] == "linux"]
    assert [s.under for s in linux] == [NO_SLOWER, "p99<500us"]
    assert linux[1].setting == setting
    saved = linux[1].reductions["power_w"]
    assert saved.value == pytest.approx(saving, abs=0.0006)
    assert saved.low is not None
    assert saved.high is not None
    assert saved.low > saving - 0.02
    assert saved.high < saving + 0.02


def test_published_closed_loop(data: Path) -> None:
    """64 KB messages: EbbRT takes 58 % less energy than Linux's default, whose repeats differ by a factor of two."""
    summaries = summarize(open_study(data / "study_netpipe.csv"), SLO, seed=0)
    summary = next(s for s in summaries if s.keys["message_bytes"] == 65536)
    saved = {s.condition["os"]: s.reductions["energy_j"] for s in summary.savings if s.under == ANY_TIME}
    assert saved["ebbrt"].value == pytest.approx(0.576, abs=0.001)
    assert saved["linux"].value == pytest.approx(0.337, abs=0.001)
    assert saved["linux"].high - saved["linux"].low > 0.1  # type: ignore[operator]
