"""What the documentation and `--help` tell people to type is understood, and what they link to is there."""

from __future__ import annotations

import re
import shlex
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path

import pytest
from tests.pages.blocks import PAGES, ROOT

from bayop.cli.commands import Command, all_commands
from bayop.cli.parser import build_parser


def commands_in(text: str) -> list[list[str]]:
    """The commands of ours in console blocks and in examples, without the prompt."""
    whole = re.sub(r"\\\n\s*", "", text)
    lines = re.findall(r"^ *(?:\$ )?(.*\b(?:bayop|make|bench)\b.*)$", whole, re.MULTILINE)
    commands = [shlex.split(part, comments=True) for line in lines for part in re.split("&+", line)]
    return [c for c in commands if c and Path(c[0]).name in {"bayop", "make", "python"}]


def commands_of(page: Path) -> list[list[str]]:
    blocks = re.findall(r"^ *```console\n(.*?)```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [command for block in blocks for command in commands_in(block)]


def check(command: list[str]) -> None:
    program, *arguments = takewhile(lambda word: not re.match(r"\d?>", word), command)
    if program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        assert set(arguments) <= set(targets)
    elif program.endswith("bayop"):
        build_parser(arguments).parse_args(arguments)
    elif arguments[0] == "-m":
        assert find_spec(arguments[1])
    else:
        assert (ROOT / arguments[0]).exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_a_page_is_understood(page: Path) -> None:
    for command in commands_of(page):
        check(command)


def test_the_pages_have_commands_to_check() -> None:
    assert sum(len(commands_of(page)) for page in PAGES) > 10


@pytest.mark.parametrize("command", all_commands(), ids=lambda command: " ".join(command.words))
def test_every_example_of_help_is_understood(command: Command) -> None:
    examples = commands_in((command.parser.epilog or "").partition("exit codes")[0])
    assert examples
    for example in examples:
        check(example)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing


def test_every_symptom_of_troubleshooting_is_a_message_of_ours() -> None:
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    symptoms = re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)
    sources = [*(ROOT / "python").rglob("*.py"), *(ROOT / "crates").glob("*/src/**/*.rs")]
    code = "".join(path.read_text(encoding="utf-8") for path in sources)
    pieces = {piece.strip() for symptom in symptoms for piece in symptom.split("...")} - {"", "s old"}
    assert len(pieces) > 30
    assert {piece for piece in pieces if piece not in code} == set()
