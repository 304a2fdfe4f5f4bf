from __future__ import annotations

from pathlib import Path

import pytest

from bayop.errors import InputError
from bayop.experiments.sweep.load import Load
from bayop.experiments.sweep.makers import StudyMaker, TwinMaker
from bayop.live.senses import WINDOW_S
from bayop.twin.profile_library import read_profile
from bayop.twin.target import ROUND_TRIPS_PER_WINDOW


def test_a_twin_is_known_by_its_content_and_not_by_its_place(tmp_path: Path) -> None:
    text, _ = read_profile("linux-memcached")
    copy = tmp_path / "mine.toml"
    copy.write_text(text, encoding="utf-8")
    built_in = TwinMaker.of("linux-memcached", window_s=1.0)
    assert TwinMaker.of(str(copy), window_s=1.0).describe() == built_in.describe()
    copy.write_text(f"{text}\n# changed", encoding="utf-8")
    assert TwinMaker.of(str(copy), window_s=1.0).describe() != built_in.describe()
    assert TwinMaker.of("linux-memcached", window_s=2.0).describe() != built_in.describe()


def test_a_twins_window_has_the_length_that_was_asked_for() -> None:
    window = TwinMaker.of("ebbrt-memcached", window_s=1.0).make(Load(qps=4e5), seed=0).measure()
    assert window["duration_s"] == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize("profile", ["linux-netpipe", "ebbrt-netpipe"])
@pytest.mark.parametrize("rx_usecs", [2, 42])
def test_a_window_of_a_closed_loop_is_the_same_work_under_every_setting(profile: str, rx_usecs: float) -> None:
    target = TwinMaker.of(profile).make(Load(message_bytes=64), seed=0)
    target.apply({"nic.rx_usecs": rx_usecs, "cpu.freq_mhz": 2000})
    window = target.measure()
    assert window["roundtrips"] == ROUND_TRIPS_PER_WINDOW
    assert window["duration_s"] == pytest.approx(ROUND_TRIPS_PER_WINDOW * 1e-6 * window["roundtrip_us"], rel=1e-6)


def test_a_closed_loop_has_no_window_of_a_time() -> None:
    with pytest.raises(
        InputError, match="a window of a closed loop must be 5000 round trips, however long they take"
    ) as error:
        TwinMaker.of("linux-netpipe", window_s=1.0)
    assert error.value.place == "window"


def test_an_open_loop_has_the_window_of_a_live_machine_unless_another_is_asked_for() -> None:
    assert TwinMaker.of("linux-memcached").window_s == WINDOW_S
    assert TwinMaker.of("linux-netpipe").window_s is None


@pytest.mark.parametrize(
    ("profile", "load", "message"),
    [
        ("linux-netpipe", Load(qps=1e5), "the load of netpipe on Linux must be a message size in bytes"),
        ("linux-memcached", Load(message_bytes=64), "the load of memcached on Linux must be a number of requests/s"),
    ],
)
def test_a_load_is_of_the_profiles_kind(profile: str, load: Load, message: str) -> None:
    with pytest.raises(InputError, match=message):
        TwinMaker.of(profile).make(load, seed=0)


def test_a_study_has_no_message_sizes(data: Path) -> None:
    with pytest.raises(InputError, match="the load of this target must be a number of requests/s"):
        StudyMaker(data / "study_memcached.csv", "linux").make(Load(message_bytes=64), seed=0)


def test_rows_say_which_server_it_was() -> None:
    origin = TwinMaker.of("ebbrt-silo", window_s=1.0).origin("sweep-1")
    assert (origin.study, origin.target, origin.machine) == ("sweep-1", "twin", "ebbrt-silo")
    assert (origin.os, origin.app, origin.vantage) == ("ebbrt", "silo", "model")


def test_a_study_answers_at_its_loads_only(data: Path) -> None:
    maker = StudyMaker(data / "study_memcached.csv", "linux")
    assert maker.make(Load(qps=6e5), seed=0).qps == 6e5
    with pytest.raises(InputError, match="the study has no trials at 100000 qps"):
        maker.make(Load(qps=1e5), seed=0)


def test_what_is_wrong_with_a_target_is_said() -> None:
    with pytest.raises(InputError, match="there is no profile 'linux-memcache'"):
        TwinMaker.of("linux-memcache", window_s=1.0)
    with pytest.raises(InputError, match="must have an offered load"):
        TwinMaker.of("linux-memcached", window_s=1.0).make(None, seed=0)
