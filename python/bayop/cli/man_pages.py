"""Manual pages of the program and of every verb and action, made from their parsers: `make man`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from bayop import __version__
from bayop.cli.commands import Command, all_commands
from bayop.cli.terminal.exit_codes import EXIT_CODES

SECTION: Final = 1


def name(command: Command) -> str:
    """What the page is called: `bayop-twin-run`."""
    return "-".join(("bayop", *command.words))


def page(command: Command) -> str:
    """The page in roff."""
    parser = command.parser
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    parts = [
        f'.TH "{name(command).upper()}" "{SECTION}" "" "bayop {__version__}" "BayOp"',
        ".SH NAME",
        f"{_roff(name(command))} \\- {_roff(command.summary.rstrip('.'))}",
        ".SH SYNOPSIS",
        _roff(usage),
        ".SH DESCRIPTION",
        _roff(parser.description or ""),
    ]
    for title, entries in (
        ("ARGUMENTS", [_entry(str(action.metavar or action.dest), action) for action in command.operands()]),
        ("OPTIONS", [_entry(_spelled(action), action) for action in command.flags()]),
        ("VERBS" if not command.words else "ACTIONS", [_tagged(_last(c), c.summary) for c in command.below()]),
        ("EXIT STATUS", [_tagged(str(c.code), f"{c.meaning}. A live machine: {c.machine}.") for c in EXIT_CODES]),
    ):
        if entries:
            parts += [f".SH {title}", *entries]
    examples = (parser.epilog or "").partition("examples:\n")[2].partition("\n\n")[0]
    if examples:
        parts += [".SH EXAMPLES", ".nf", _roff(examples.rstrip()), ".fi"]
    pages = [name(c) for c in command.below()] or ["bayop"]
    parts += [".SH SEE ALSO", ", ".join(f"\\fB{_roff(p)}\\fR({SECTION})" for p in pages)]
    return "\n".join(parts) + "\n"


def write_pages(folder: Path) -> list[Path]:
    """Writes every page and says where."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for command in all_commands():
        paths.append(folder / f"{name(command)}.{SECTION}")
        paths[-1].write_text(page(command), encoding="utf-8")
    return paths


def _last(command: Command) -> str:
    return command.words[-1]


def _spelled(action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
    return ", ".join(action.option_strings) + value


def _entry(term: str, action: argparse.Action) -> str:
    return _tagged(term, (action.help or "").replace("%%", "%"))


def _tagged(term: str, text: str) -> str:
    return f".TP\n\\fB{_roff(term)}\\fR\n{_roff(text)}"


def _roff(text: str) -> str:
    """Text in which nothing is a command to roff."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return "\n".join(f"\\&{line}" if line.startswith((".", "\\(aq")) else line for line in escaped.split("\n"))


if __name__ == "__main__":
    for path in write_pages(Path(sys.argv[1])):
        print(path)
