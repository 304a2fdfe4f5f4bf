"""Errors about parameters, as whoever typed flags sees them."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from bayop.cli import main
from bayop.cli.flags.actions import with_flag
from bayop.cli.parser import build_parser
from bayop.errors import BayopError, InputError, unreadable


@pytest.mark.parametrize(
    ("words", "place", "said"),
    [
        ("load", "duration_s", "--time"),
        ("load", "authorities", "--cacert"),
        ("load", "protocol", "--protocol"),
        ("tune", "only", "--only"),
        ("tune", "small_steps", "--small-steps"),
        ("app start nginx", "port", "--port"),
        ("app start nginx", "app", "app"),
        ("tune", "port", "port"),
        ("tune", None, None),
    ],
)
def test_a_parameter_is_named_by_the_first_flag_that_gives_it(words: str, place: str | None, said: str | None) -> None:
    typed = words.split()
    args = build_parser(typed).parse_args(typed)
    error = with_flag(InputError("it must be so", value=3, parameter=place, hint="h"), args)
    assert (error.place, error.value, error.hint) == (said, 3, "h")


def test_a_file_that_is_called_like_a_parameter_is_no_flag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    args = build_parser(["tune"]).parse_args(["tune"])
    error = unreadable("load", FileNotFoundError(errno.ENOENT, ""))
    assert with_flag(error, args) is error
    assert with_flag(InputError(wrong="w", place="live.toml:3"), args).place == "live.toml:3"


@pytest.mark.parametrize("words", [["fit", "model"], ["fit", "os", "--json"], ["report", "slo"]])
def test_a_missing_file_is_the_file(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert capsys.readouterr().err.startswith(f"error: cannot read {words[1]}: no such file\n")


def test_an_error_of_no_parameter_is_not_its_own_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    error = InputError(wrong="it broke")

    def fail(_: object) -> int:
        raise error

    monkeypatch.setattr("bayop.cli.knobs.run", fail)
    monkeypatch.setattr("bayop.cli._tell", lambda *_, **__: 2)
    assert main(["knobs"]) == 2
    assert error.__cause__ is None


def test_a_parameter_stays_one_as_an_error_is_completed() -> None:
    args = build_parser(["tune"]).parse_args(["tune"])
    error = InputError.of(BayopError(wrong="w", parameter="load").but(hint="h").at("elsewhere"))
    assert with_flag(error, args).place == "--load"
