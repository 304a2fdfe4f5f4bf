from __future__ import annotations

import json
import math

import pytest

from bayop.cli import main, report_error
from bayop.cli.terminal.output import console, literal, new_table, print_json, progress
from bayop.errors import BayopError
from bayop.units import round_significant


def test_a_program_gets_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"event": "trial", "setting": None})
    print_json({"event": "result"})
    assert [json.loads(line)["event"] for line in capsys.readouterr().out.splitlines()] == ["trial", "result"]


def test_a_program_never_gets_a_nan(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="JSON"):
        print_json({"power_w": math.nan})
    assert capsys.readouterr().out == ""


def test_a_pipe_gets_no_colours_and_whole_lines(capsys: pytest.CaptureFixture[str]) -> None:
    console().print("[bold red]" + "word " * 50 + "[/bold red]end")
    assert capsys.readouterr().out == "word " * 50 + "end\n"


def test_a_table_fits_the_width(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    table = new_table("what the columns mean")
    table.add_column("setting")
    table.add_row("word " * 30)
    console().print(table)
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 40


def test_progress_is_for_terminals_and_never_on_stdout(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with progress("delays", 3) as bar:
        bar.advance()
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress("delays", 3) as bar:
        bar.advance()
        bar.reach(3)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "delays" in captured.err


@pytest.mark.parametrize(("value", "digits", "rounded"), [(133.123456789, 6, 133.123), (0.00123456, 3, 0.00123)])
def test_digits_that_mean_nothing_are_left_out(value: float, digits: int, rounded: float) -> None:
    assert round_significant(value, digits) == rounded


def test_a_terminal_that_does_not_know_its_width_gets_everything(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "0")
    assert main(["knobs"]) == 0
    assert "nic.rx_usecs" in capsys.readouterr().out


def test_a_terminal_obeys_nothing_of_what_others_say(capsys: pytest.CaptureFixture[str]) -> None:
    console().print(literal("[bold]\x1b[2J\x9b31m\u202e\rä\nnext"))
    report_error(BayopError(wrong="no \x1b[2J\nerror: forged", hint="try\x07"))
    said = capsys.readouterr()
    assert said.out == "[bold]\\x1b[2J\\x9b31m\\u202e\\rä\nnext\n"
    assert said.err == "error: no \\x1b[2J\\nerror: forged\nhint: try\\x07\n"
