from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import IO

import pytest

from bayop.errors import InputError
from bayop.files import check_writable, make_folder, open_regular, read_text, write_whole


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old", encoding="utf-8")

    def write(file: IO[bytes]) -> None:
        file.write(b"new")
        assert path.read_text(encoding="utf-8") == "old"

    write_whole(path, write)
    assert path.read_text(encoding="utf-8") == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("name", "why"), [("taken/below", "not a directory"), ("x" * 250, "file name too long"), ("a\0b", "")]
)
def test_a_name_that_can_not_be_is_named_as_it_was_typed(tmp_path: Path, name: str, why: str) -> None:
    (tmp_path / "taken").write_text("kept", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        write_whole(tmp_path / name, lambda file: file.write(b"new"))
    assert caught.value.message == f"cannot write {tmp_path / name}: {why or 'embedded null byte'}"
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


class DiskError(Exception):
    """What a library makes of a disk that is full."""


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), DiskError("no space left on device")]
)
def test_what_can_not_be_written_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: Exception) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old", encoding="utf-8")

    def write(file: IO[bytes]) -> None:
        file.write(b"new")
        raise error

    with pytest.raises(InputError) as caught:
        write_whole(path, write, failures=(DiskError,))
    assert caught.value.message == f"cannot write {path}: no space left on device"
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_no_failure_of_the_disk_is_raised_as_it_is(tmp_path: Path) -> None:
    def write(_: IO[bytes]) -> None:
        raise DiskError

    with pytest.raises(DiskError):
        write_whole(tmp_path / "a.txt", write)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("umask", "mode", "bits"), [(0o077, 0o644, 0o644), (0o027, None, 0o640)])
def test_who_may_read_is_said_or_left_to_the_umask(tmp_path: Path, umask: int, mode: int | None, bits: int) -> None:
    before = os.umask(umask)
    try:
        write_whole(tmp_path / "a.txt", lambda file: file.write(b"new"), mode=mode)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == bits


def test_the_content_is_on_disk_before_the_name_and_the_name_before_it_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[str, bool]] = []

    def fsync(descriptor: int) -> None:
        synced.append((os.path.realpath(f"/proc/self/fd/{descriptor}"), (tmp_path / "a.txt").exists()))

    monkeypatch.setattr(os, "fsync", fsync)
    write_whole(tmp_path / "a.txt", lambda file: file.write(b"new"))
    assert synced == [(f"{tmp_path}/.a.txt.{os.getpid()}.tmp", False), (str(tmp_path), True)]


def test_a_folder_is_made_with_those_above_it(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


@pytest.mark.parametrize(("name", "reason"), [("taken", "file exists"), ("taken/below", "not a directory")])
def test_a_file_is_no_folder(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "taken").write_text("kept", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        make_folder(tmp_path / name)
    assert str(caught.value) == f"cannot write {tmp_path / name}: {reason}"
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
    assert str(caught.value) == f"cannot write {tmp_path}: permission denied"
    assert asked == [(tmp_path, os.W_OK | os.X_OK)]


def test_a_file_that_could_not_be_written_is_refused_before_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_writable(tmp_path / "a.txt")
    assert list(tmp_path.iterdir()) == []
    for path, why in ((tmp_path, "it is a folder"), (tmp_path / "no" / "a.txt", f"there is no folder {tmp_path}/no")):
        with pytest.raises(InputError) as caught:
            check_writable(path, place="--save")
        assert str(caught.value) == f"cannot write {path}: {why} (--save)"
    monkeypatch.setattr(os, "access", lambda path, _: path != tmp_path)
    with pytest.raises(InputError) as caught:
        check_writable(tmp_path / "a.txt")
    assert caught.value.message == f"cannot write {tmp_path}/a.txt: permission denied"


def test_nobody_is_waited_for_who_writes_to_a_pipe_and_no_device_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    for path in (tmp_path / "pipe", tmp_path / "link"):
        with pytest.raises(InputError, match=f"cannot read {path}: it is no regular file"):
            read_text(path)


def test_a_file_that_becomes_a_pipe_before_it_is_opened_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    path.touch()
    was = path.stat()
    path.unlink()
    os.mkfifo(path)
    ask = Path.stat  # other threads of the tests ask, too
    monkeypatch.setattr(Path, "stat", lambda self, **how: was if self == path else ask(self, **how))
    with pytest.raises(InputError, match="it is no regular file"):
        open_regular(path)


def test_a_text_is_read_as_python_reads_it_and_has_a_most(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffä\r\nb\rc\n".encode())
    assert read_text(path, encoding="utf-8-sig") == "ä\nb\nc\n"
    path.write_bytes(b"\xff")
    with pytest.raises(InputError, match="it is not text in UTF-8"):
        read_text(path)
    with path.open("wb") as file:
        file.truncate(16 * 2**20 + 1)
    with pytest.raises(InputError, match="it has more than 16 MiB"):
        read_text(path)
