from __future__ import annotations

import os
from pathlib import Path

import pytest

from bayop.errors import InputError
from bayop.secret_file import read_secret


@pytest.fixture
def path(tmp_path: Path) -> Path:
    secret = tmp_path / "token"
    secret.write_text("a secret\n", encoding="utf-8")
    secret.chmod(0o600)
    return secret


def test_what_only_its_owner_reads_is_read(path: Path) -> None:
    assert read_secret(path) == "a secret\n"
    path.chmod(0o640)
    assert read_secret(path) == "a secret\n", "a group may read what is its own"


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o601])
def test_what_others_may_read_or_change_is_refused(path: Path, mode: int) -> None:
    path.chmod(mode)
    with pytest.raises(InputError, match="a token file must be closed to others") as caught:
        read_secret(path)
    assert caught.value.hint == f"chmod 600 {path}"


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name, why in (("pipe", "it is no regular file"), ("none", "no such file")):
        with pytest.raises(InputError, match=f"cannot read .*{name}: {why}"):
            read_secret(tmp_path / name)


def test_a_longer_file_is_refused_as_a_part_of_it_would_be_another_secret(path: Path) -> None:
    path.write_text("a" * 70_000, encoding="utf-8")
    with pytest.raises(InputError, match="at most 65536 characters"):
        read_secret(path)


def test_what_it_holds_is_in_no_message(path: Path) -> None:
    path.write_bytes(b"secret \xff")
    with pytest.raises(InputError) as caught:
        read_secret(path)
    assert "secret \\xff" not in str(caught.value.to_json())
    assert "it is not text in UTF-8" in caught.value.message
