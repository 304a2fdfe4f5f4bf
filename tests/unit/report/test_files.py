from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from bayop.errors import InputError
from bayop.report.files import make_folder, unwritable


def test_a_folder_is_made_with_those_above_it(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


@pytest.mark.parametrize(("name", "reason"), [("taken", "File exists"), ("taken/below", "Not a directory")])
def test_a_file_is_no_folder(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "taken").write_text("kept", encoding="utf-8")
    with pytest.raises(InputError, match="the report's folder can be written") as caught:
        make_folder(tmp_path / name)
    assert (caught.value.value, caught.value.place, caught.value.hint) == (str(tmp_path / name), "--out", reason)
    assert (tmp_path / "taken").read_text(encoding="utf-8") == "kept"


def test_a_folder_that_can_not_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Root may write everywhere, so the kernel's answer is put in its place.
    asked: list[tuple[Path, int]] = []

    def access(path: Path, mode: int) -> bool:
        asked.append((path, mode))
        return False

    monkeypatch.setattr(os, "access", access)
    with pytest.raises(InputError) as caught:
        make_folder(tmp_path)
    assert caught.value.hint == "Permission denied"
    assert asked == [(tmp_path, os.W_OK | os.X_OK)]


def test_the_reason_is_the_systems() -> None:
    error = unwritable(Path("out"), OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    assert error.message == "--out: the report's folder can be written, but got 'out'"
    assert error.hint == "No space left on device"
