from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from bayop.errors import InputError
from bayop.load.bodies import read_bodies
from bayop.load.http_request import HttpRequest
from bayop.load.plan import OpenLoop, Plan, Workload


def test_a_file_is_one_body_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "body"
    file.write_bytes(bytes(range(256)))
    assert read_bodies(file) == (bytes(range(256)),)


def test_the_files_of_a_folder_are_bodies_in_the_order_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "0").write_text("not this one")
    for name in ("c", "a", "b"):
        (tmp_path / name).write_text(name * 2)
    (tmp_path / "d").write_bytes(b"")
    assert read_bodies(tmp_path) == (b"aa", b"bb", b"cc", b"")


def test_a_folder_without_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    with pytest.raises(InputError) as caught:
        read_bodies(tmp_path)
    assert (caught.value.rule, caught.value.value) == ("a folder of bodies must have a file", str(tmp_path))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_bodies(tmp_path / "body")


def test_all_bodies_together_have_a_most(tmp_path: Path) -> None:
    for name, size in (("a", 10 * 2**20), ("b", 6 * 2**20)):
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
    assert [len(body) for body in read_bodies(tmp_path)] == [10 * 2**20, 6 * 2**20]
    (tmp_path / "c").write_bytes(b"1")
    with pytest.raises(InputError, match="bodies must have at most 16 MiB in all"):
        read_bodies(tmp_path)


def test_what_never_ends_is_no_body(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (Path("/dev/zero"), tmp_path / "pipe"):
        with pytest.raises(InputError, match=f"cannot read {path}: it is no regular file"):
            read_bodies(path)


def test_a_plan_has_a_character_for_every_byte_of_a_body() -> None:
    request = HttpRequest(method="POST", bodies=(bytes(range(256)), b""))
    plan = Plan(servers=("h:1",), dialect="http", workload=Workload(http=(request,)), schedule=OpenLoop.constant(1.0))
    first, second = json.loads(plan.to_json())["workload"]["http"][0]["bodies"]
    assert ([ord(character) for character in first], second) == (list(range(256)), "")
