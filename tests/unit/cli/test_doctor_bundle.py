"""`bayop doctor --bundle`: a recording from which the doctor says the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bayop.cli import main

MACHINES = Path(__file__).resolve().parents[2] / "machines"
Capture = pytest.CaptureFixture[str]


def examined(tree: Path, capsys: Capture) -> tuple[int, str]:
    code = main(["doctor", "--root", str(tree), "--json"])
    return code, capsys.readouterr().out


@pytest.mark.parametrize("tree", sorted(MACHINES.glob("*.tree")), ids=lambda tree: tree.stem)
def test_the_doctor_says_the_same_of_a_bundle_as_of_its_machine(tree: Path, tmp_path: Path, capsys: Capture) -> None:
    bundle = tmp_path / "bundle.tree"
    assert main(["doctor", "--root", str(tree), "--bundle", str(bundle), "--json"]) == 0
    (event,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (event["event"], event["file"]) == ("bundle", str(bundle))
    assert event["files"] == bundle.read_text(encoding="utf-8").count("\n=== ")
    assert examined(bundle, capsys) == examined(tree, capsys)


def test_people_are_asked_to_look_at_it(tmp_path: Path, capsys: Capture) -> None:
    bundle = tmp_path / "bundle.tree"
    assert main(["doctor", "--bundle", str(bundle)]) == 0
    assert "files of this machine. Look through it before you give it away" in capsys.readouterr().out
    assert "=== proc/stat" in bundle.read_text(encoding="utf-8")


def test_what_could_not_be_read_is_counted(tmp_path: Path, capsys: Capture) -> None:
    tree, bundle = tmp_path / "machine.tree", tmp_path / "bundle.tree"
    tree.write_text("=== proc/stat !read\n=== sys/class/net/eth0/type\n1\n", encoding="utf-8")
    assert main(["doctor", "--root", str(tree), "--bundle", str(bundle)]) == 0
    said = capsys.readouterr().out
    assert f"{bundle} has 2 files of {tree}." in said
    assert said.endswith("1 of them could not be read\n"), "root sees no more of a file than others do"


@pytest.mark.parametrize(
    ("file", "more", "message"),
    [
        ("there.tree", [], "there.tree is there already"),
        ("nowhere/bundle.tree", [], "nowhere/bundle.tree: no such file"),
        ("new.tree", ["--agent", "unix:/a"], "both --agent and --bundle"),
        ("new.tree", ["--exercise"], "both --exercise and --bundle"),
    ],
)
def test_bad_usage(tmp_path: Path, capsys: Capture, file: str, more: list[str], message: str) -> None:
    (tmp_path / "there.tree").write_text("mine", encoding="utf-8")
    assert main(["doctor", "--bundle", str(tmp_path / file), *more]) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["there.tree"]
    assert (tmp_path / "there.tree").read_text(encoding="utf-8") == "mine"
