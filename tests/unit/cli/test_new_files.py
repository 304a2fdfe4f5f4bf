from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from bayop.cli.terminal.new_files import CONFIGURATION, check_new, check_out, create
from bayop.errors import InputError


@pytest.mark.parametrize(("umask", "mode", "bits"), [(0o027, None, 0o640), (0o002, CONFIGURATION, 0o644)])
def test_all_are_created_as_the_umask_or_the_verb_says(tmp_path: Path, umask: int, mode: int | None, bits: int) -> None:
    before = os.umask(umask)
    try:
        create({tmp_path / "a": "1", tmp_path / "b": "2", tmp_path / "c": "#!/bin/sh"}, mode=mode)
    finally:
        os.umask(before)
    assert [(tmp_path / name).read_text(encoding="utf-8") for name in "abc"] == ["1", "2", "#!/bin/sh"]
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in "abc"] == [bits, bits, 0o755]


def test_a_device_and_a_pipe_are_given_what_is_written(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        for path in (Path("/dev/null"), tmp_path / "pipe"):
            check_new(path)
            create({path: "text"})
        assert os.read(reader, 100) == b"text"
    finally:
        os.close(reader)
    assert Path("/dev/null").is_char_device()
    assert (tmp_path / "pipe").is_fifo()


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is there already; a file must not be overwritten"):
        check_new(tmp_path)


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


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("there", "{out} is there already; a file must not be overwritten (--out)"),
        ("no/file", "cannot write {out}: there is no folder {folder}/no (--out)"),
        ("there/below", "cannot write {out}: there is no folder {folder}/there (--out)"),
        ("x" * 300, "cannot write {out}: file name too long (--out)"),
    ],
)
def test_a_file_that_can_not_be_made_is_refused_before_the_work(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "there").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        check_out(tmp_path / name)
    assert str(caught.value) == message.format(out=tmp_path / name, folder=tmp_path)
