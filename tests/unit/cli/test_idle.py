from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bayop.cli import main
from bayop.idle.machines import MACHINES, OWN
from bayop.idle.recorder import COLUMNS
from bayop.idle.synthetic import KINDS

NUMBERS = {
    "energy_over_clairvoyant",
    "wake_latency_mean_us",
    "wake_latency_p99_us",
    "ns_per_decision",
    "too_deep",
    "too_shallow",
    "decisions",
}


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "poisson.csv.gz"
    assert main(["idle", "synthesize", "poisson", "--seed", "1", "--out", str(path)]) == 0
    return path


def test_a_trace_is_not_overwritten(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = trace.read_bytes()
    assert main(["idle", "synthesize", "poisson", "--seed", "2", "--out", str(trace)]) == 2
    assert f"{trace} is there already; a file must not be overwritten (--out)" in capsys.readouterr().err
    assert trace.read_bytes() == before


def test_programs_get_an_object_for_each_governor(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["idle", "replay", str(trace), "--governors", "menu,bayop", "--machine", "zen2", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["event"], row["trace"], row["governor"]) for row in rows] == [
        ("replay", "poisson", "menu"),
        ("replay", "poisson", "bayop"),
    ]
    assert all(set(row) == {"event", "trace", "governor"} | NUMBERS for row in rows)
    menu, bayop = rows
    assert bayop["energy_over_clairvoyant"] < menu["energy_over_clairvoyant"]


def test_people_get_a_table_and_figures(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "figures"
    assert main(["idle", "replay", str(trace), str(trace), "--governors", "teo,bayop", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert printed.count("\n all ") == 2
    names = {"idle-energy-latency.svg", "idle-energy-latency.png", "idle-choices.svg", "idle-choices.png"}
    assert {path.name for path in out.iterdir()} == names


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--governors", "menu,te0"], "there is no governor 'te0'"),
        (["--governors", "menu,menu"], "cannot use 'menu,menu': each governor must be named once (--governors)"),
        (["--machine", "skylake"], "there is no machine 'skylake'"),
        (["--price", "17"], "it must lie between 0 and 16"),
        (["--limit", "0us"], "it must lie between 1us and 1s"),
    ],
)
def test_bad_words_are_refused(trace: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["idle", "replay", str(trace), *words]) == 2
    assert message in capsys.readouterr().err


def test_the_help_names_the_kinds_and_machines_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    def printed(action: str) -> str:
        with pytest.raises(SystemExit):
            main(["idle", action, "--help"])
        return " ".join(capsys.readouterr().out.split()).replace("- ", "-")

    assert f"how packets come: {', '.join(KINDS)}" in printed("synthesize")
    assert f"whose idle states: {', '.join(MACHINES)}, or {OWN} " in printed("replay")


@pytest.mark.parametrize(
    ("stays", "code", "words"),
    [
        ((), 1, "nothing was recorded"),
        (("1,9,8,7,2,0,-1,2,6,1",), 0, "1 stay of 1 CPU in "),
        (("1,9,8,7,2,0,-1,2,6,1", "0,9,8,7,2,0,-1,2,6,1"), 0, "2 stays of 2 CPUs in "),
    ],
)
def test_what_was_recorded_is_said_and_that_nothing_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], stays: tuple[str, ...], code: int, words: str
) -> None:
    summary = {"stays": len(stays), "lost": 0, "duration_s": 0.1, "governor": "menu", "driver": "none", "timers": True}
    recorder = tmp_path / "recorder.py"
    lines = (",".join(COLUMNS), *stays, json.dumps(summary))
    recorder.write_text("".join(f"print({line!r})\n" for line in lines), encoding="utf-8")
    out = tmp_path / "traces"
    argv = ["idle", "record", "--recorder", f"{sys.executable} {recorder}", "--cost", "--out", str(out)]
    assert main(argv) == code
    assert words in capsys.readouterr().out
    assert len(list(out.iterdir())) == len(stays)
