from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from bayop.catalogue import knob_ids
from bayop.errors import InputError
from bayop.experiments.sweep.makers import HeldMaker, StudyMaker, TwinMaker
from bayop.latency.base import Vantage
from bayop.study import open_study
from bayop.study.schema import COLUMNS, REQUIRED, column_of, in_order
from bayop.target.base import Target
from bayop.twin.windows import QUANTITIES


def test_every_trial_says_where_it_comes_from() -> None:
    assert REQUIRED == ("study", "trial", "target", "machine")


def test_every_column_is_found_by_its_name_and_explained() -> None:
    for column in COLUMNS:
        assert column_of(column.name) is column
        assert column.meaning
        assert column.low <= column.high


def test_a_column_of_words_knows_all_that_is_written_there(tmp_path: Path) -> None:
    assert {*column_of("vantage").words} == {*Vantage, "model"}
    twin, study = TwinMaker.of("linux-memcached"), StudyMaker(tmp_path / "study.csv", "linux")
    agent, live = (HeldMaker(cast(Target, None), {}, kind, "a machine", "client") for kind in ("agent", "live"))
    made = {maker.origin("a study").target for maker in (twin, study, agent, live)}
    assert {*column_of("target").words} == made | {*open_study("example:silo", columns=["target"])["target"]}


@pytest.mark.parametrize("name", sorted(QUANTITIES))
def test_whatever_the_twin_measures_has_a_column(name: str) -> None:
    assert column_of(name).measured


def test_every_knob_may_be_asked_and_effective() -> None:
    for knob_id in knob_ids():
        assert column_of(f"asked.{knob_id}").kind == column_of(f"effective.{knob_id}").kind
    assert column_of("asked.nic.rx_usecs").unit == "us"
    assert column_of("asked.idle.governor").kind == "text"
    assert column_of("asked.nic.rx_frames").kind == "number"
    assert column_of("asked.nic.combined_queues@eth0").kind == "number"
    assert column_of("effective.nic.rx_usecs@eth0").unit == "us"


def test_quantiles_residencies_and_spreads_are_known_by_their_pattern() -> None:
    assert column_of("p999_us").meaning == "latency: 99.9 % of the requests were no slower"
    assert column_of("residency_c1e").unit == "share"
    assert column_of("relative_sd.p99_us").unit == "share"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("p99_ms", "convert it to us and name it p99_us"),
        ("avg_ms", "convert it to us and name it mean_us"),
        ("asked.cpu.freq_ghz", "convert it to MHz and name it asked.cpu.freq_mhz"),
        ("asked.nic.rx_us", "convert it to us and name it asked.nic.rx_usecs"),
        ("power_mw", "convert it to W and name it power_w"),
        ("duration_ms", "convert it to s and name it duration_s"),
        ("powr_w", "did you mean power_w?"),
        ("asked.nic.rx_usec", "did you mean asked.nic.rx_usecs?"),
        ("asked.nic.rx_usecs@", "did you mean asked.nic.rx_usecs?"),
        ("relative_sd.seed", "bayop study columns says what they hold"),
        ("p0_us", "did you mean p50_us?"),
        ("p99.9_us", "name it p999_us"),
        ("p99_9_us", "name it p999_us"),
        ("nic.rx_usecs", "name it asked.nic.rx_usecs, if that was asked of the knob"),
        ("freq_mhz", "name it asked.cpu.freq_mhz, if that was asked of the knob"),
        ("rps", "name it qps_offered, if it is that"),
        ("zzz", "bayop study columns says what they hold"),
    ],
)
def test_another_name_is_refused_with_what_may_be_meant(name: str, hint: str) -> None:
    with pytest.raises(InputError, match="a study's columns must be those of its schema") as caught:
        column_of(name)
    assert caught.value.value == name
    assert caught.value.hint == hint


def test_columns_stand_where_people_look_for_them() -> None:
    order = ["study", "trial", "asked.cpu.freq_mhz", "effective.cpu.freq_mhz", "p5_us", "p99_us", "power_w"]
    order += ["mean_us", "relative_sd.p99_us", "suspect"]
    assert in_order(reversed(order)) == order
