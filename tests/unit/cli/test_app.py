"""What `bayop app` prints and refuses; what it starts and installs is in tests/end_to_end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Self

import pytest
from jsonschema import Draft202012Validator
from tests.support.schemas import closed

from bayop.applications import serve
from bayop.applications.definition import application_names
from bayop.applications.serve import Service
from bayop.cli import main
from bayop.errors import BayopError
from bayop.events.applications import APPLICATION, INSTALLED

Capture = pytest.CaptureFixture[str]

MINE = """\
licence = "MIT"
start = ["%s", "{address}:{port}"]
port = 8080
protocol = "http"
ready = ["true"]
[packages]
apt = ["mine", "mine-more"]
[knobs]
"cpu.freq_mhz" = "all"
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with an application whose program is everywhere, and one whose program is nowhere."""
    for name, program in (("here", "sh"), ("nowhere", "bayop-no-such-program")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "app.toml").write_text(MINE % program, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_there_is_comes_with_where_it_is_installed(mine: Path, capsys: Capture) -> None:
    assert main(["app", "list", "--applications", str(mine), "--json"]) == 0
    here, nowhere = map(json.loads, capsys.readouterr().out.splitlines())
    assert (here["name"], Path(here["path"]).name) == ("here", "sh")
    assert (nowhere["name"], nowhere["path"], nowhere["packages"]) == ("nowhere", None, {"apt": ["mine", "mine-more"]})
    assert (here["ready"], here["knobs"], here["live"]) == (["true"], {"cpu.freq_mhz": "all"}, None)
    Draft202012Validator(closed(APPLICATION.schema())).validate(here)


def test_people_see_a_row_for_each(mine: Path, capsys: Capture) -> None:
    assert main(["app", "list", "--applications", str(mine)]) == 0
    rows = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines() if line.strip()}
    assert rows["nowhere"] == ["no", "mine", "mine-more", "http", "8080", "MIT"]
    assert rows["here"][1:] == ["mine", "mine-more", "http", "8080", "MIT"]
    assert main(["app", "list"]) == 0
    output = capsys.readouterr().out
    assert all(name in output for name in application_names())


def test_a_folder_without_applications_says_what_one_is(tmp_path: Path, capsys: Capture) -> None:
    assert main(["app", "list", "--applications", str(tmp_path)]) == 0
    assert "an application is DIR/NAME/app.toml" in capsys.readouterr().out


def test_what_is_there_already_brings_nothing(mine: Path, capsys: Capture) -> None:
    words = ["app", "install", "here", "--applications", str(mine)]
    assert main(words) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("here is installed already: /")
    assert captured.err == ""
    assert main([*words, "--json"]) == 0
    event = json.loads(capsys.readouterr().out)
    Draft202012Validator(closed(INSTALLED.schema())).validate(event)
    assert (event["brought"], event["disabled"]) == ([], [])


def test_how_one_is_loaded_drowns_none(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """A recognizer of speech answers a few requests a second."""

    class Ended(Service):
        def __enter__(self) -> Self:
            return self

        def wait(self) -> BayopError:
            return BayopError(wrong="sphinx was ended")

    monkeypatch.setattr(serve, "Service", Ended)
    assert main(["app", "start", "sphinx"]) == 1
    _, load = capsys.readouterr().out.splitlines()
    flags = "--protocol http --path '/{n}' --timeout 30s --closed-loop -c 8"
    assert load == f"bayop load -s 127.0.0.1:8083 {flags}"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["list", "--applications", "absent"], 2, "cannot read absent: no such file"),
        (["install", "ngnix"], 2, "there is no application 'ngnix' (NAME)\nhint: did you mean nginx?"),
        (["start", "ngnix"], 2, "there is no application 'ngnix' (NAME)\nhint: did you mean nginx?"),
        (["start", "nginx", "--port", "70000"], 2, "it must be a whole number from 1 to 65535 (--port)"),
        (["start", "nginx", "--cpus", "0;1"], 2, "CPUs must be a list of numbers and ranges (--cpus)"),
        (["start", "nginx", "--cpus", "0,99999"], 2, "CPUs must be those that bayop may run on (--cpus)"),
        (["start", "nginx", "--cpus", "1-0"], 2, "CPUs must be those that bayop may run on (--cpus)"),
        (["start", "nowhere", "--applications", "."], 4, "bayop-no-such-program is not installed"),
        (["restart", "nginx"], 2, "there is no 'restart' (ACTION)\nhint: did you mean start?"),
    ],
)
@pytest.mark.usefixtures("mine")
def test_bad_usage(capsys: Capture, words: list[str], code: int, message: str) -> None:
    assert main(["app", *words]) == code
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
