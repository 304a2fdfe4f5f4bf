from __future__ import annotations

from pathlib import Path

import pytest

from bayop import errors
from bayop.cli import main
from bayop.cli.terminal import exit_codes
from bayop.cli.terminal.streams import StdoutError

ROOT = Path(__file__).resolve().parents[3]
CODES = {entry.code for entry in exit_codes.EXIT_CODES}


def kinds_of_error(base: type[errors.BayopError] = errors.BayopError) -> set[type[errors.BayopError]]:
    return {base}.union(*(kinds_of_error(kind) for kind in base.__subclasses__()))


def test_every_error_has_a_code_of_the_table() -> None:
    assert StdoutError in kinds_of_error()
    assert {kind.exit_code for kind in kinds_of_error()} <= CODES


def test_a_code_is_there_once() -> None:
    assert len(CODES) == len(exit_codes.EXIT_CODES)


def test_help_shows_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert exit_codes.help_text() in capsys.readouterr().out


def test_the_documentation_shows_the_table() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert exit_codes.markdown() in page, "put the new table into docs/architecture.md"
