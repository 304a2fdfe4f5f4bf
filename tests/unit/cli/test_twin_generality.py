from __future__ import annotations

import json
from pathlib import Path

import pytest

from bayop.cli import main
from bayop.experiments.generality import play


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(play, "_TRUTH_REQUESTS", 10_000)
    monkeypatch.setattr(play, "_TRIAL_S", 1.0)


def command(folder: Path, *flags: str) -> int:
    one = ["--services", "img-dnn", "--machines", "epyc-ena", "--seeds", "1", "--out", str(folder)]
    return main(["twin", "generality", *one, *flags])


def test_prints_a_line_a_search_and_writes_them_with_the_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(tmp_path / "out", "--json") == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(e["event"], e["load_share"]) for e in events] == [("outcome", 0.4), ("outcome", 0.8)]
    assert events[0]["setting"].keys() == {"nic.rx_usecs", "cpu.freq_mhz"}
    written = [json.loads(line) for line in (tmp_path / "out" / "outcomes.jsonl").read_text().splitlines()]
    assert written[0]["event"] == "start"
    assert written[1:] == events
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "outcomes.jsonl",
        "generality.png",
        "generality.svg",
    }


def test_people_get_a_table_and_what_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(tmp_path) == 0
    out = capsys.readouterr().out
    assert "epyc-ena" in out
    assert "Tailbench at 40% of peak" in out
    assert "SLO met by what was held: 2 of 2 searches" in out


@pytest.mark.parametrize("flag", ["--services", "--machines"])
def test_unknown_names_are_refused(flag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["twin", "generality", flag, "toaster", "--out", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert flag in err
    assert "toaster" in err
