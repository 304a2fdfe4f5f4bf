from __future__ import annotations

import resource
from pathlib import Path

import pytest

from bayop.cli.terminal.new_files import create
from bayop.errors import InputError


def test_all_are_created_for_their_owner_to_write(tmp_path: Path) -> None:
    create({tmp_path / "a": "1", tmp_path / "b": "2"})
    assert [(tmp_path / name).read_text(encoding="utf-8") for name in "ab"] == ["1", "2"]
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o644


def test_one_that_is_there_keeps_all_from_being_created(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="b is there already") as caught:
        create({tmp_path / "a": "1", tmp_path / "b": "2"}, hint="elsewhere")
    assert caught.value.hint == "elsewhere"
    assert [path.name for path in tmp_path.iterdir()] == ["b"]
    assert (tmp_path / "b").read_text(encoding="utf-8") == "mine"


def test_a_disk_that_is_full_leaves_no_half(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(InputError, match=r"cannot write .*/b: file too large"):
            create({tmp_path / "a": "1", tmp_path / "b": "2" * 2000})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []
