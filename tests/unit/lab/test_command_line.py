from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from lab import packages
from lab.__main__ import EXAMPLES, main
from lab.__main__ import _parser as parser


@pytest.mark.parametrize(
    "arguments",
    [
        ["--file", "nowhere", "build"],
        ["--file", "etc/x=README.md", "build"],
        ["--program", "/x=/no/such/file", "build"],
        ["--agent", "/no/such/file", "run", "true"],
    ],
)
def test_a_file_that_makes_no_sense_is_bad_input(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_a_host_without_the_packages_is_told_how_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(packages, "PACKAGES", tmp_path)
    assert packages.missing() is not None
    assert main(["build"]) == 4
    assert "hint: run lab/install-packages" in capsys.readouterr().err


def test_every_example_is_understood() -> None:
    commands = EXAMPLES.replace("\\\n", "").splitlines()
    examples = [shlex.split(line.split("   ")[0]) for line in commands if line.startswith("  python -m lab")]
    assert len(examples) == 5
    for example in examples:
        parser().parse_args(example[3:])
