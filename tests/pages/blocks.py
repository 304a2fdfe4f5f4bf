"""What the pages tell people to type: the fenced blocks of Markdown, with what they need in order to run.

A comment before a block says what its test can't know, in clauses between semicolons:

    <!-- test: slow; needs agent; with --servers 2 -->

| clause | meaning |
|---|---|
| `slow` | `make test-all` runs it, `make test` does not |
| `needs A B` | what must be there; `conftest.py` brings it or skips the test with the reason |
| `with ARGUMENTS` | added to every command, so that it does less |
| `types TEXT` | what is typed while a command runs, after half a minute |
| `exit N M` | the exit codes that a command may have, where not only 0 |
| `run by FILE` | another test reads this page and runs these commands |
| `not run, REASON` | nothing runs it |

A block of `console` has commands after `$ `, and below a command what it prints where the page shows that; `...` stands
for anything. A block that begins with a comment with nothing but a file's name (`# live.toml`) is that file. Other
blocks of `python` are programs.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]

PAGES: Final = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "lab" / "README.md",
    *sorted((ROOT / "docs").glob("**/*.md")),
]
"""Every page that people are meant to follow."""

BENCHMARKS: Final = ROOT / "docs" / "benchmarks.md"
"""The page whose blocks take longest."""

EXPERIMENTS: Final = [
    ROOT / "docs" / f"{name}.md"
    for name in ("claims", "demo", "generality", "idle", "interrupts", "model", "policies", "sweep", "twin")
]
"""Pages whose blocks repeat experiments, which takes minutes."""

_BLOCK: Final = re.compile(
    r"^(?: *<!-- test: (?P<says>[^>]*) -->\n)?(?P<indent> *)```(?P<kind>\w*)\n(?P<text>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)
_FILE: Final = re.compile(r"(?:#!.*\n)?# ([\w.-]+\.\w+)\n")
_CLAUSE: Final = re.compile(r"(slow|needs|with|types|exit|run by|not run)\b,? *(.*)")


@dataclass(frozen=True, slots=True)
class Step:
    """One command, and what the page shows of its output, which may be nothing."""

    command: str
    shown: str


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a page.

    Attributes:
        page: The page, from the root of the repository.
        line: Where the block begins.
        kind: `console`, `python`, `toml` ..., as the page says.
        text: What is in it, without indentation.
        clauses: What the comment before it says.
    """

    page: str
    line: int
    kind: str
    text: str
    clauses: dict[str, str] = field(default_factory=dict)

    @property
    def is_slow(self) -> bool:
        """Whether `make test` leaves it out."""
        return "slow" in self.clauses

    @property
    def needs(self) -> list[str]:
        """What must be there."""
        return self.clauses.get("needs", "").split()

    @property
    def exit_codes(self) -> list[int]:
        """The exit codes that a command may have."""
        return [int(code) for code in self.clauses.get("exit", "0").split()]

    @property
    def file(self) -> str | None:
        """The name of the file that it is."""
        match = _FILE.match(self.text)
        return match[1] if match else None

    @property
    def runs(self) -> bool:
        """Whether it is something that runs, and here."""
        is_program = self.kind == "console" or (self.kind == "python" and self.file is None)
        return is_program and not {"run by", "not run"} & self.clauses.keys()

    def steps(self) -> list[Step]:
        """Its commands, as they are typed."""
        if self.kind != "console":
            return [Step(f"python - <<'END'\n{self.text}END", "")]
        parts = re.split(r"^\$ ", self.text, flags=re.MULTILINE)
        assert not parts[0].strip(), f"{self}: a block of console begins with a command"
        return [_step(part, self.clauses.get("with", "")) for part in parts[1:]]

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page, from its top."""
    text = page.read_text(encoding="utf-8")
    name = str(page.relative_to(ROOT))
    return [
        Block(
            name,
            text.count("\n", 0, match.start("kind")) + 1,
            match["kind"],
            textwrap.dedent(match["text"]),
            _clauses(match["says"] or ""),
        )
        for match in _BLOCK.finditer(text)
    ]


def _clauses(says: str) -> dict[str, str]:
    clauses = {}
    for clause in filter(None, says.split("; ")):
        match = _CLAUSE.fullmatch(clause)
        assert match, f"{clause!r} is no clause; the clauses are those of tests/pages/blocks.py"
        clauses[match[1]] = match[2]
    return clauses


def _step(part: str, more: str) -> Step:
    """A command with the lines that go on with it, and what is below."""
    lines = part.splitlines(keepends=True)
    ends = next(number for number, line in enumerate(lines, 1) if not line.endswith("\\\n"))
    command = "".join(lines[:ends]).rstrip()
    output = [line for line in lines[ends:] if not line.lstrip().startswith("# ")]
    return Step(f"{command} {more}".rstrip(), "".join(output))
