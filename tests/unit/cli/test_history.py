"""`bayop history` as people see it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bayop.cli import main
from bayop.state.store import Store

Capture = pytest.CaptureFixture[str]
FILE = '[service.web]\nagent = "unix:/nobody.sock"\nlatency = "./p99.sh"\nslo = "p99<500us"\n'


def test_an_event_s_fields_are_told_as_people_write_them(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    fields = {
        "measured": {"power_w": 120.04994711656136, "p99_us": 100.0},
        "services": ["cache", "web"],
        "setting": {"power.cap_w": 90.0, "cpu.epp": "power"},
        "restored": True,
        "missed_slo": False,
        "hint": None,
        "low": {"w": None},
    }
    with Store(tmp_path / "bayop.db") as store:
        store.add_event(0.0, "web", "stop", fields)
    assert main(["history", str(tmp_path / "bayop.db"), "--of", "event"]) == 0
    assert (
        "measured power_w 120.05, p99_us 100; services cache, web; setting power.cap_w 90W, cpu.epp power; "
        "restored yes; missed_slo no; low w unknown" in " ".join(capsys.readouterr().out.split())
    )


@pytest.mark.parametrize("words", [["history"], ["explain", "web"], ["export", "web", "--as", "script"]])
def test_before_a_first_run_nothing_is_remembered(tmp_path: Path, words: list[str], capsys: Capture) -> None:
    file = tmp_path / "bayop.toml"
    file.write_text(FILE, encoding="utf-8")
    assert main([words[0], str(file), *words[1:]]) == 2
    assert f"bayop run has remembered nothing yet: there is no {tmp_path}/bayop.db" in capsys.readouterr().err


def test_what_is_explained_is_of_a_file_not_of_its_state(tmp_path: Path, capsys: Capture) -> None:
    with Store(tmp_path / "bayop.db"):
        assert main(["explain", str(tmp_path / "bayop.db"), "web"]) == 2
    assert "hint: name the bayop.toml itself" in capsys.readouterr().err


def test_a_folder_is_no_state(capsys: Capture) -> None:
    assert main(["history", "."]) == 2
    assert "error: . is a folder; a state must be a file" in capsys.readouterr().err
