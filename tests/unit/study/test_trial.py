from __future__ import annotations

from datetime import UTC, datetime

import pytest

import bayop
from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.space import AUTO, Setting
from bayop.study.check import at_rows, check_study
from bayop.study.trial import Origin, fingerprint, frame_of, trial_row
from bayop.twin.profile_library import read_profile
from bayop.twin.target import TwinTarget

PLACE = at_rows("table")
ORIGIN = Origin("night", "agent", "web7", os="linux", vantage="client")


def test_a_trial_of_the_twin_says_all_of_itself() -> None:
    text, source = read_profile("ebbrt-silo")
    target = TwinTarget.from_profile("ebbrt-silo", qps=50_000.0, seed=3)
    setting: Setting = {"nic.rx_usecs": 50, "cpu.freq_mhz": AUTO}
    row = trial_row(
        Origin.of_twin("night", profile=text, source=source),
        trial=4,
        asked=setting,
        effective=target.apply(setting),
        measurement=target.measure(),
        qps=target.qps,
        repeat=2,
        seed=3,
        started_at=datetime(2026, 11, 20, tzinfo=UTC),
    )
    (trial,) = check_study(frame_of([row], PLACE), PLACE).to_dicts()
    assert trial["machine"] == "ebbrt-silo"
    assert trial["machine_fingerprint"] == fingerprint(text)
    assert (trial["os"], trial["app"], trial["vantage"], trial["target"]) == ("ebbrt", "silo", "model", "twin")
    assert trial["bayop_version"] == bayop.__version__
    assert (trial["asked.nic.rx_usecs"], trial["asked.cpu.freq_mhz"]) == (50.0, None)
    assert (trial["effective.nic.rx_usecs"], trial["effective.cpu.freq_mhz"]) == (50.0, None)
    assert trial["relative_sd.p99_us"] > 0
    assert trial["p99_us"] > trial["p50_us"]
    assert "cut_short" not in trial


def test_what_is_not_known_is_absent_and_what_was_left_alone_is_null() -> None:
    measurement = Measurement({"power_w": 50.0}, cut_short="latency was 20 times the limit")
    row = trial_row(ORIGIN, trial=1, asked={"idle.governor": AUTO}, effective={}, measurement=measurement)
    assert "seed" not in row
    assert row["asked.idle.governor"] is None
    assert row["cut_short"] == "latency was 20 times the limit"


def test_rows_that_sensed_different_things_are_one_table() -> None:
    rows = [
        trial_row(ORIGIN, trial=i, asked={}, effective={}, measurement=Measurement({name: 9.0}))
        for i, name in enumerate(("power_w", "residency_c1"))
    ]
    frame = frame_of(rows, PLACE)
    assert frame["power_w"].to_list() == [9.0, None]
    assert frame["residency_c1"].to_list() == [None, 9.0]


def test_a_quantity_that_has_no_column_is_refused() -> None:
    row = trial_row(ORIGIN, trial=1, asked={}, effective={}, measurement=Measurement({"p99_ms": 9.0}))
    with pytest.raises(
        InputError, match=r"a study's columns must be those of its schema \(table, row 1, column p99_ms\)"
    ):
        frame_of([row], PLACE)
