"""The systemd unit of `bayop run`, as systemd reads it; what it is told at run time is tested in test_run.py."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.support.needs import need

from bayop.cli.parser import build_parser

UNIT = Path(__file__).resolve().parents[2] / "packaging" / "bayop.service"


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit, of a program that is there."""
    need("systemd-analyze")
    path = tmp_path / UNIT.name
    path.write_text(UNIT.read_text(encoding="utf-8").replace("/usr/bin/bayop", "/bin/true"), encoding="utf-8")
    return path


def analyze(*words: str) -> str:
    run = subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout + run.stderr


def test_systemd_takes_every_line_of_it(unit: Path) -> None:
    assert analyze("verify", "--man=no", str(unit)) == ""


def test_it_is_exposed_to_little(unit: Path) -> None:
    assert "Overall exposure level" in analyze("security", "--offline=true", "--threshold=16", str(unit))


def test_what_it_starts_is_understood() -> None:
    lines = dict(line.split("=", 1) for line in UNIT.read_text(encoding="utf-8").splitlines() if "=" in line)
    program, *words = lines["ExecStart"].split()
    assert program == "/usr/bin/bayop"
    build_parser(words).parse_args(words)
    assert lines["ExecReload"] == f"{program} reload --file {words[-1]}"
    assert lines["Type"] == "notify"
