from __future__ import annotations

import os
from pathlib import Path

import pytest

from bayop.errors import InputError
from bayop.report.files import make_folder


def test_a_folder_is_made_with_those_above_it(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


@pytest.mark.parametrize(("name", "reason"), [("taken", "file exists"), ("taken/below", "not a directory")])
def test_a_file_is_no_folder(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "taken").write_text("kept", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        make_folder(tmp_path / name)
    assert str(caught.value) == f"cannot write {tmp_path / name}: {reason} (--out)"
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
    assert str(caught.value) == f"cannot write {tmp_path}: permission denied (--out)"
    assert asked == [(tmp_path, os.W_OK | os.X_OK)]
