from __future__ import annotations

from pathlib import Path

import pytest

from bayop.errors import InputError
from bayop.study.sweep.makers import StudyMaker, TwinMaker
from bayop.target.profile_library import read_profile


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
    window = TwinMaker.of("ebbrt-memcached", window_s=1.0).make(qps=4e5, seed=0).measure()
    assert window["duration_s"] == pytest.approx(1.0, rel=0.01)


def test_rows_say_which_server_it_was() -> None:
    origin = TwinMaker.of("ebbrt-silo", window_s=1.0).origin("sweep-1")
    assert (origin.study, origin.target, origin.machine) == ("sweep-1", "twin", "ebbrt-silo")
    assert (origin.os, origin.app, origin.vantage) == ("ebbrt", "silo", "model")


def test_a_study_answers_at_its_loads_only(data: Path) -> None:
    maker = StudyMaker(data / "study_memcached.csv", "linux")
    assert maker.make(qps=6e5, seed=0).qps == 6e5
    with pytest.raises(InputError, match="the study has trials at this load"):
        maker.make(qps=1e5, seed=0)


def test_what_is_wrong_with_a_target_is_said() -> None:
    with pytest.raises(InputError, match="the profile is unknown"):
        TwinMaker.of("linux-memcache", window_s=1.0)
    with pytest.raises(InputError, match="needs its offered load"):
        TwinMaker.of("linux-memcached", window_s=1.0).make(qps=None, seed=0)
