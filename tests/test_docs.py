"""What the documentation and `--help` tell people to type is understood."""

from __future__ import annotations

import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest

from bayop.cli import VERBS, build_parser
from bayop.cli.twin import ACTIONS

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = ["", *VERBS, *(f"twin_{action}" for action in ACTIONS)]


def commands_in(text: str) -> list[list[str]]:
    """The commands of console blocks and of examples, without the prompt."""
    joined = re.sub(r"\\\n\s*", "", text)
    lines = re.findall(r"^ *(?:\$ |> )?((?:\.venv/bin/)?bayop .*|make .*)$", joined, re.MULTILINE)
    return [shlex.split(line, comments=True) for line in lines]


def check(command: list[str]) -> None:
    program, *arguments = command
    if program == "make":
        targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        assert set(arguments) <= set(targets)
    else:
        build_parser(arguments).parse_args(arguments)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_a_page_is_understood(page: Path) -> None:
    for block in re.findall(r"^ *```console\n(.*?)```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        for command in commands_in(block):
            check(command)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_of_help_is_understood(name: str) -> None:
    module = import_module(f"bayop.cli.{name}" if name else "bayop.cli")
    commands = commands_in(module.EXAMPLE)
    assert commands
    for command in commands:
        check(command)


def test_the_pages_have_commands_to_check() -> None:
    assert sum(len(commands_in(page.read_text(encoding="utf-8"))) for page in PAGES) > 10
