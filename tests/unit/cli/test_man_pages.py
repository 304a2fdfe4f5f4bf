from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bayop.cli.commands import all_commands
from bayop.cli.man_pages import name, page, write_pages


def test_every_verb_and_action_has_a_page_with_all_of_its_flags(tmp_path: Path) -> None:
    commands = all_commands()
    assert [path.name for path in write_pages(tmp_path)] == [f"{name(c)}.1" for c in commands]
    assert {"bayop", "bayop-tune", "bayop-twin-run"} <= {name(c) for c in commands}
    for command in commands:
        text = (tmp_path / f"{name(command)}.1").read_text(encoding="utf-8")
        for flag in command.flags():
            assert flag.option_strings[-1].replace("-", "\\-") in text, name(command)


def test_no_line_is_a_command_to_roff_by_accident() -> None:
    known = (".TH", ".SH", ".TP", ".nf", ".fi")
    for command in all_commands():
        for line in page(command).splitlines():
            assert not line.startswith("'")
            assert not line.startswith(".") or line.startswith(known), (name(command), line)


@pytest.mark.needs("man")
def test_man_reads_them(tmp_path: Path) -> None:
    (tune,) = [path for path in write_pages(tmp_path) if path.name == "bayop-tune.1"]
    run = subprocess.run(["man", "--warnings", "-l", tune], capture_output=True, text=True, check=True)
    assert run.stderr == ""
    assert "--optimizer" in run.stdout
