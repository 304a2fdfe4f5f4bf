"""`bayop claims`: where it looks for what was counted on the library OS, and what a page must have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bayop.cli import main

ONE = ["claims", "--only", "memcached-instructions"]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is not the repository."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("elsewhere")
def test_away_from_the_repository_the_library_os_is_left_out(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ONE, "--data", str(data), "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["verdict"], row["library_os"]) == ("reproduced", None)
    assert main([*ONE, "--data", str(data)]) == 0
    assert "The library OS is left out: --libos FILE" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (ONE, "--only memcached-instructions leaves some out; the page must have every claim (--page)"),
        (["claims"], "windows.jsonl; the page must have what was counted on the library OS (--page)"),
    ],
)
def test_a_page_that_would_not_be_whole_is_refused(
    elsewhere: Path, flags: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    page = elsewhere / "page.md"
    assert main([*flags, "--page", str(page)]) == 2
    assert message in capsys.readouterr().err
    assert not page.exists()
