"""The systemd units of the brain, as systemd reads them; what `bayop run` tells it is tested in test_run.py."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.support.needs import need

from bayop.cli.parser import build_parser

PACKAGING = Path(__file__).resolve().parents[2] / "packaging"


@pytest.fixture(params=["bayop.service", "bayop-idle.service"])
def unit(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A unit, of a program that is there."""
    need("systemd-analyze")
    path: Path = tmp_path / request.param
    text = (PACKAGING / request.param).read_text(encoding="utf-8")
    path.write_text(text.replace("/usr/bin/bayop", "/bin/true"), encoding="utf-8")
    return path


def analyze(*words: str) -> str:
    run = subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout + run.stderr


def test_systemd_takes_every_line_of_it(unit: Path) -> None:
    assert analyze("verify", "--man=no", str(unit)) == ""


def test_it_is_exposed_to_little(unit: Path) -> None:
    assert "Overall exposure level" in analyze("security", "--offline=true", "--threshold=16", str(unit))


def settings(name: str) -> dict[str, str]:
    lines = (PACKAGING / name).read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


def test_what_runs_a_file_is_understood() -> None:
    unit = settings("bayop.service")
    program, *words = unit["ExecStart"].split()
    assert program == "/usr/bin/bayop"
    build_parser(words).parse_args(words)
    assert unit["ExecReload"] == f"{program} reload --file {words[-1]}"
    assert unit["Type"] == "notify"


def test_what_governs_idle_states_is_understood() -> None:
    unit = settings("bayop-idle.service")
    name, goal = unit["Environment"].strip('"').split("=")
    program, *words = unit["ExecStart"].replace(f"${name}", goal).split()
    assert program == "/usr/bin/bayop"
    args = build_parser(words).parse_args(words)
    assert (args.agent, args.recorder, args.price) == ("unix:/run/bayop/agent.sock", None, 0.3)
