from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support import needs

LINES = [
    "only root may do this; get it by: sudo make test",
    "ray is not installed; get it by: make extras",
    "only root may do this; get it by: sudo make test",
]


def test_what_did_not_run_is_counted_by_its_reason_with_one_command_for_all() -> None:
    assert needs.table(LINES).splitlines() == [
        "tests  did not run, because   what runs them",
        "    2  only root may do this  sudo make test",
        "    1  ray is not installed   make extras",
        "",
        "One command for them: sudo make extras test",
    ]


def test_what_no_command_of_ours_gets_is_only_listed() -> None:
    assert needs.table(["no such NIC; get it by: another machine"]).splitlines()[1:] == [
        "    1  no such NIC           another machine"
    ]
    assert needs.table([]) == "Every test ran."


def test_a_skipped_test_is_noted_and_one_that_exists_nowhere_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAYOPTEST_SKIPPED", str(tmp_path / "skipped"))
    needs.note([f"Skipped: {LINES[0]}", "Skipped: this target measures no p99"])
    needs.note([LINES[1]])
    assert (tmp_path / "skipped").read_text(encoding="utf-8").splitlines() == LINES[:2]
    run = subprocess.run(
        [sys.executable, "-m", needs.__name__, tmp_path / "skipped"], capture_output=True, text=True, check=True
    )
    assert run.stdout == needs.table(LINES[:2]) + "\n"


def test_a_lack_skips_the_test_or_fails_it_where_nothing_may_be_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    needs.need("sh")
    monkeypatch.delenv("BAYOPTEST_NO_SKIP", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"^no-such-program is not installed; get it by: sudo make test$"):
        needs.need("sh", "no-such-program")
    monkeypatch.setenv("BAYOPTEST_NO_SKIP", "1")
    with pytest.raises(pytest.fail.Exception, match="no-such-program is not installed"):
        needs.need("no-such-program")
