from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np
import pytest
from tests.support.studies import COLUMNS, study_rows, write_study

from bayop.errors import InputError
from bayop.recorded.rows import study_target
from bayop.recorded.table import Row
from bayop.recorded.target import LATENCY_NOISE, NOISE, StudyTarget
from bayop.search import tune
from bayop.space import FREQ_MHZ, RX_USECS, Setting

SETTING: Setting = {RX_USECS: 50, FREQ_MHZ: 2000}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.csv"


def make(path: Path, *, os: str = "linux", qps: float = 1000.0, seed: int = 0) -> StudyTarget:
    return study_target(path, os=os, qps=qps, seed=seed)


def test_its_space_is_the_hull_in_hardware_steps(path: Path) -> None:
    space = make(write_study(path, study_rows(delays=(3, 50, 201), freqs=(1300, 2900)))).space
    assert space[RX_USECS].numbers()[:2] == (4, 6)
    assert space[RX_USECS].numbers()[-1] == 200
    assert space[FREQ_MHZ].numbers() == tuple(range(1300, 2901, 100))
    assert (space[RX_USECS].safest, space[FREQ_MHZ].safest) == ("low", "high")


def test_it_says_what_it_does_not_answer_with(path: Path) -> None:
    rows = study_rows()
    assert not make(write_study(path, rows)).doubts
    alone = rows[-1] | {"itr_us": "399"}
    (doubt,) = make(write_study(path, [*rows, alone])).doubts
    assert doubt.startswith("1 settings of the study are left out")


def test_measures_the_recorded_value_within_the_noise(path: Path) -> None:
    row = next(r for r in study_rows() if (r["itr_us"], r["freq_ghz"]) == ("50", "2"))
    target = make(write_study(path))
    target.apply(SETTING)
    windows = [target.measure() for _ in range(400)]
    for name, sd in (("power_w", NOISE["power_w"]), ("p99_us", LATENCY_NOISE)):
        logs = np.log([w[name] for w in windows]) - np.log(float(row[name]))
        assert abs(logs.mean()) < 4 * sd / 20
        assert logs.std() == pytest.approx(sd, rel=0.2)
        assert windows[0].relative_sd[name] == sd


def test_a_study_without_utilization_measures_none(path: Path) -> None:
    target = make(write_study(path))
    assert target.quantities == {"power_w", "p50_us", "p99_us"}


def test_utilization_never_exceeds_one(path: Path) -> None:
    rows = [r | {"busy_frac": "1.0"} for r in study_rows()]
    target = make(write_study(path, rows, [*COLUMNS, "busy_frac"]))
    target.apply(SETTING)
    assert max(target.measure()["utilization"] for _ in range(50)) == 1.0


def test_energy_is_power_times_time(path: Path) -> None:
    rows = [r | {"duration_s": "20"} for r in study_rows()]
    target = make(write_study(path, rows, [*COLUMNS, "duration_s"]))
    assert target.quantities >= {"duration_s", "energy_j"}
    target.apply(SETTING)
    baseline = target.baseline()
    assert baseline is not None
    for window in (target.measure(), baseline):
        assert window["energy_j"] == pytest.approx(window["power_w"] * 20.0)
    assert target.measure().relative_sd["energy_j"] == NOISE["power_w"]


def test_a_study_without_durations_has_no_energy_to_tell(path: Path) -> None:
    target = make(write_study(path))
    baseline = target.baseline()
    assert baseline is not None
    target.apply(SETTING)
    window = target.measure()
    assert not {"duration_s", "energy_j"} & (baseline.quantities.keys() | window.quantities.keys())
    assert "energy_j" not in window.relative_sd
    with pytest.raises(InputError, match="the target does not measure energy_j, which the objective names") as caught:
        tune(target, "p99<500us", objective="rp")
    assert caught.value.hint == "linux, 1000 qps of study.csv measures p50_us, p99_us, power_w"


def test_only_uncapped_rows_answer(path: Path) -> None:
    capped = [r | {"rapl_limit_w": "55", "power_w": "20"} for r in study_rows()[1:]]
    rows = [r | {"rapl_limit_w": "135"} for r in study_rows()]
    target = make(write_study(path, [*capped, *rows], [*COLUMNS, "rapl_limit_w"]))
    target.apply(SETTING)
    assert target.measure()["power_w"] > 30


def test_the_baseline_is_the_mean_of_the_default_rows(path: Path) -> None:
    rows = [study_rows()[0] | {"power_w": "100"}, study_rows()[0] | {"power_w": "120"}, *study_rows()[1:]]
    baseline = make(write_study(path, rows)).baseline()
    assert baseline is not None
    assert baseline["power_w"] == 110.0


def test_a_study_without_default_rows_says_so(path: Path) -> None:
    target = make(write_study(path, study_rows()[1:]))
    assert target.baseline() is None
    with pytest.raises(InputError, match="the study has no default rows"):
        target.measure()


def test_published_default_is_what_the_paper_says(data: Path) -> None:
    target = make(data / "study_memcached.csv", qps=600_000.0)
    baseline = target.baseline()
    assert baseline is not None
    assert baseline["power_w"] == pytest.approx(129.7, abs=0.1)
    assert baseline["p99_us"] == pytest.approx(138.9, abs=0.1)


def test_another_os_is_refused_with_those_there_are(path: Path) -> None:
    with pytest.raises(InputError, match="the study has no trials of bsd") as caught:
        make(write_study(path), os="bsd")
    assert (caught.value.place, caught.value.hint) == (str(path), "it has linux")


def test_another_load_is_refused_with_those_there_are(data: Path) -> None:
    with pytest.raises(InputError, match="the study has no trials at 400000 qps") as caught:
        make(data / "study_memcached.csv", qps=400_000.0)
    assert caught.value.hint == "its loads are 200000, 600000 qps"


def test_a_load_as_people_type_it_is_refused_with_its_number(path: Path) -> None:
    with pytest.raises(InputError, match="cannot use '600k': a load must be a positive number of requests/s") as caught:
        make(write_study(path), qps=cast("float", "600k"))
    assert caught.value.hint == "in a program, write 600_000"


def test_a_study_that_is_no_grid_is_refused_with_its_place(path: Path) -> None:
    with pytest.raises(InputError, match="a complete grid") as caught:
        make(write_study(path, study_rows(delays=(2,))))
    assert caught.value.place == f"{path}, linux, 1000 qps"


def test_three_knobs_answer_as_two_do() -> None:
    rows = [
        Row("linux", 1e3, {RX_USECS: x, FREQ_MHZ: f, "idle.max_latency_us": i}, {"power_w": x + f + i, "p99_us": 9.0})
        for x in (0.0, 10.0)
        for f in (1000.0, 2000.0)
        for i in (0.0, 2.0, 50.0)
    ]
    few = [Row("linux", 1e3, {RX_USECS: x, FREQ_MHZ: 1000.0}, {"power_w": 1.0, "p99_us": 1.0}) for x in (0.0, 10.0)]
    target = StudyTarget([*few, *rows], source="three.csv", os="linux", qps=1e3, seed=0)
    assert target.space.ids == (RX_USECS, FREQ_MHZ, "idle.max_latency_us")
    assert target.space["idle.max_latency_us"].numbers() == (0.0, 2.0, 50.0)
    setting: Setting = {RX_USECS: 10.0, FREQ_MHZ: 2000.0, "idle.max_latency_us": 2.0}
    assert target.truth(setting)["power_w"] == pytest.approx(2012.0)


def test_a_study_of_defaults_alone_answers_for_nothing() -> None:
    rows = [Row("linux", 1e3, {}, {"power_w": 100.0, "p99_us": 100.0})]
    with pytest.raises(InputError, match="every trial left all knobs to the operating system"):
        StudyTarget(rows, source="default.csv", os="linux", qps=1e3, seed=0)
