"""What `bayop doctor --exercise` prints and refuses; with the real agent it is tested end to end."""

from __future__ import annotations

import pytest

from bayop.cli import main
from bayop.cli.doctor import exercise as doctor_exercise
from bayop.machine.exercise import Attempt, Exercise
from bayop.space import AUTO

GOOD = Exercise("nic.rx_usecs@eth0", 30, (Attempt(100, 100, 1.0), Attempt(200, 200, 2.5)), Attempt(AUTO, 30, 0.4))
BAD = Exercise("idle.governor@all", "menu", (Attempt("teo", None, 1.0, "no such governor"),), Attempt(AUTO, "menu", 0))


def test_each_place_has_what_was_asked_read_and_restored(capsys: pytest.CaptureFixture[str]) -> None:
    doctor_exercise._show([GOOD])
    output = capsys.readouterr().out
    row = next(line for line in output.splitlines() if GOOD.knob in line)
    assert row.split() == [GOOD.knob, "30us", "100us,", "200us", "100us,", "200us", "30us", "2.5", "ok"]
    assert "All 1 place took both values and have their own back." in output


def test_what_failed_is_said_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    doctor_exercise._show([GOOD, BAD])
    output = capsys.readouterr().out
    assert "idle.governor@all: no such governor" in output
    assert "1 of 2 places did not do as they should." in output


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        (["--yes"], 2, "--yes has nothing to answer"),
        (["--exercise", "--root", "."], 2, "both --root and --exercise"),
        (["--exercise", "--calibrate", "nic", "--agent", "unix:/a", "--device", "eth0"], 2, "both --calibrate"),
        (["--exercise", "--yes", "--agent", "unix:/nowhere.sock"], 4, "unix:/nowhere.sock"),
    ],
)
def test_bad_usage(capsys: pytest.CaptureFixture[str], flags: list[str], code: int, message: str) -> None:
    assert main(["doctor", *flags]) == code
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
