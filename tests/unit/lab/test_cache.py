from __future__ import annotations

from pathlib import Path

import pytest

from lab import cache


@pytest.fixture(autouse=True)
def build_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cache, "BUILD", tmp_path / "lab")
    return tmp_path / "lab"


def test_the_same_inputs_are_built_once(tmp_path: Path) -> None:
    source, folders = tmp_path / "source", []

    def make(folder: Path) -> None:
        folders.append(folder)
        (folder / "result").write_text(source.read_text(encoding="utf-8"), encoding="utf-8")

    def result() -> str:
        return (cache.cached("thing", ["version", source], make) / "result").read_text(encoding="utf-8")

    source.write_text("one", encoding="utf-8")
    assert [result(), result()] == ["one", "one"]
    assert len(folders) == 1
    source.write_text("two", encoding="utf-8")
    assert result() == "two"
    assert len(folders) == 2


def test_where_one_input_ends_and_the_next_begins_counts() -> None:
    def make(folder: Path) -> None:
        (folder / "result").touch()

    assert cache.cached("thing", ["ab", "c"], make) != cache.cached("thing", ["a", "bc"], make)


def test_a_build_that_fails_leaves_nothing(build_folder: Path) -> None:
    def make(folder: Path) -> None:
        (folder / "half").touch()
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        cache.cached("thing", [], make)
    assert not list(build_folder.iterdir())
