from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from tests.support.studies import COLUMNS, study_rows
from tests.support.studies import write_study as write_published
from tests.support.tables import study_frame

from bayop.errors import InputError
from bayop.experiments.sweep.makers import StudyMaker
from bayop.recorded.rows import read_rows, study_target
from bayop.study import merge_studies, write_study


def test_reads_the_published_studies_of_open_loops(data: Path) -> None:
    memcached = read_rows(data / "study_memcached.csv")
    assert {(r.os, r.qps) for r in memcached} == {(o, q) for o in ("linux", "ebbrt") for q in (200_000.0, 600_000.0)}
    assert read_rows(data / "study_silo.csv")


def test_speaks_the_units_and_names_of_measurements(tmp_path: Path) -> None:
    extra = {"qps_measured": "999", "busy_frac": "0.4", "duration_s": "20", "interrupts": "5000"}
    path = write_published(tmp_path / "study.csv", [study_rows()[1] | extra], [*COLUMNS, *extra])
    (row,) = read_rows(path)
    assert (row.os, row.qps, row.is_default) == ("linux", 1000.0, False)
    assert row.setting == {"nic.rx_usecs": 2.0, "cpu.freq_mhz": 1300.0}
    measured = {"power_w", "p50_us", "p99_us", "qps", "utilization", "duration_s", "interrupts_per_s"}
    assert set(row.quantities) == measured
    assert row.quantities["interrupts_per_s"] == 250.0


def test_a_default_row_has_no_setting(tmp_path: Path) -> None:
    row = read_rows(write_published(tmp_path / "study.csv"))[0]
    assert (row.setting, row.is_default) == ({}, True)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".csv.gz"])
def test_a_study_of_our_own_answers_as_the_published_one_does(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"sweep{suffix}"
    write_study(study_frame(), path)
    published = write_published(tmp_path / "study.csv")
    ours = study_target(path, os="linux", qps=1000.0, seed=1)
    theirs = study_target(published, os="linux", qps=1000.0, seed=1)
    assert ours.space == theirs.space
    for setting in ours.space.settings()[::50]:
        assert ours.truth(setting)["p99_us"] == pytest.approx(theirs.truth(setting)["p99_us"], rel=1e-4)
    baseline = ours.baseline()
    assert baseline is not None
    assert baseline["utilization"] > 0


def test_a_study_answers_for_its_only_system_or_for_linux(tmp_path: Path) -> None:
    write_study(study_frame().drop("os"), tmp_path / "none.csv")
    write_study(study_frame().with_columns(os=pl.lit("bsd")), tmp_path / "one.csv")
    for name, os in (("none", "unknown"), ("one", "bsd")):
        target = study_target(tmp_path / f"{name}.csv", qps=1000.0, seed=0)
        assert target.description == f"{os}, 1000 qps of {name}.csv"
        assert StudyMaker.of(tmp_path / f"{name}.csv").os == os
    other = study_frame(study="other").with_columns(os=pl.lit("ebbrt"))
    write_study(merge_studies([study_frame(), other]), tmp_path / "two.csv")
    assert study_target(tmp_path / "two.csv", qps=1000.0, seed=0).description.startswith("linux, ")
    assert study_target(tmp_path / "two.csv", os="ebbrt", qps=1000.0, seed=0).description.startswith("ebbrt, ")


def test_trials_without_trust_or_of_a_closed_loop_are_left_out(tmp_path: Path) -> None:
    frame = study_frame()
    doubtful = [
        frame.with_columns(pl.col("trial") + 200, suspect=pl.lit("itr_mislabelled")),
        frame.with_columns(pl.col("trial") + 300, qps_offered=pl.lit(None)),
    ]
    write_study(merge_studies([frame, *doubtful]), tmp_path / "a.parquet")
    assert len(read_rows(tmp_path / "a.parquet")) == frame.height


def test_services_and_machines_are_not_mixed(tmp_path: Path) -> None:
    other = study_frame(study="other").with_columns(app=pl.lit("silo"))
    write_study(merge_studies([study_frame(), other]), tmp_path / "a.csv")
    with pytest.raises(InputError, match=r"cannot use 'memcached, silo': .* of one service .*column app"):
        read_rows(tmp_path / "a.csv")


def test_words_of_a_knob_are_no_repeats_of_each_other(tmp_path: Path) -> None:
    is_fixed = pl.col("asked.nic.rx_usecs").is_not_null()
    one, two = (
        pl.when(is_fixed).then(pl.lit("menu")),
        pl.when(is_fixed & (pl.col("trial") % 2 == 0)).then(pl.lit("teo")),
    )
    alike = study_frame().with_columns(one.alias("asked.idle.governor"))
    write_study(alike, tmp_path / "alike.csv")
    assert len(read_rows(tmp_path / "alike.csv")) == alike.height
    write_study(study_frame().with_columns(two.otherwise(one).alias("asked.idle.governor")), tmp_path / "a.csv")
    with pytest.raises(InputError, match=r"cannot use 'menu, teo': .* set knobs to numbers .*asked.idle.governor"):
        read_rows(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (study_frame().drop("power_w"), "power_w is missing"),
        (study_frame().drop("qps_offered"), "qps_offered is missing"),
        (
            study_frame().with_columns(cut_short=pl.lit("harm")),
            "must have at least one trial of an open loop with its power",
        ),
    ],
)
def test_a_study_that_answers_nothing_is_refused(tmp_path: Path, frame: pl.DataFrame, message: str) -> None:
    write_study(frame, tmp_path / "a.csv")
    with pytest.raises(InputError, match=message) as caught:
        read_rows(tmp_path / "a.csv")
    assert caught.value.place == str(tmp_path / "a.csv")
