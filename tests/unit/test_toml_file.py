from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bayop.errors import InputError
from bayop.toml_file import TomlFile, flag, number, one_of, text, whole

TEXT = """\
# a comment
name = "first"
  'quoted key' = 2

[ window ]   # how long
name = "second"
"window_s"=3
[empty]
"""
KEYS = {"name": text, "quoted key": whole(0, 9), "window_s": number(0.0, 9.0)}


@pytest.fixture
def file(tmp_path: Path) -> TomlFile:
    return written(tmp_path, TEXT)


def written(folder: Path, content: str) -> TomlFile:
    path = folder / "live.toml"
    path.write_text(content, encoding="utf-8")
    return TomlFile(path)


@pytest.mark.parametrize(
    ("table", "key", "line"),
    [
        ("", "name", 2),
        ("", "quoted key", 3),
        ("window", None, 5),
        ("window", "name", 6),
        ("window", "window_s", 7),
        ("empty", None, 8),
    ],
)
def test_a_key_stands_in_its_line(file: TomlFile, table: str, key: str | None, line: int) -> None:
    assert file.place(table, key).endswith(f"live.toml:{line}")


def test_what_is_not_there_stands_in_the_file(file: TomlFile) -> None:
    assert file.place("empty", "name").endswith("live.toml")
    assert file.place("none").endswith("live.toml")


def test_values_are_read_by_their_keys(file: TomlFile) -> None:
    assert file.read("", KEYS) == {"name": "first", "quoted key": 2}
    assert file.read("window", KEYS) == {"name": "second", "window_s": 3.0}
    assert file.read("empty", KEYS) == file.read("none", KEYS) == {}
    assert file.table("window") == {"name": "second", "window_s": 3}


@pytest.mark.parametrize(
    ("content", "line", "value", "hint"),
    [
        ("nam = 1\n", 1, "nam", "did you mean name?"),
        ("\nzzz = 1\n", 2, "zzz", "known here: name, quoted key, window_s"),
    ],
)
def test_an_unknown_key_is_refused(tmp_path: Path, content: str, line: int, value: str, hint: str) -> None:
    with pytest.raises(InputError, match=f"there is no key '{value}'") as caught:
        written(tmp_path, content).read("", KEYS)
    assert (caught.value.place, caught.value.value, caught.value.hint) == (f"{tmp_path}/live.toml:{line}", value, hint)


@pytest.mark.parametrize(
    ("content", "line", "message", "hint"),
    [
        ("name = 1\n\n[windw]\n", 3, "there is no key 'windw'", "did you mean window?"),
        ("name = 1\n\n[windw.a]\nb = 1\n[windw.b]\n", 3, "there is no key 'windw'", "did you mean window?"),
        ("name = 1\nwindow = 3\n", 2, "cannot use 3: window must be a table", "[window]"),
        ("window = [true, 'a']\n", 1, 'cannot use [true, "a"]: window must be a table', "[window]"),
        ("[name]\n", 1, "name is a table; name must be a value", "name = ..."),
    ],
)
def test_a_table_is_no_value_and_a_value_no_table(
    tmp_path: Path, content: str, line: int, message: str, hint: str
) -> None:
    with pytest.raises(InputError) as caught:
        written(tmp_path, content).check_tables({"window": None, "empty": None}, KEYS)
    assert caught.value.message.startswith(message)
    assert (caught.value.place, caught.value.hint) == (f"{tmp_path}/live.toml:{line}", hint)


def test_where_nothing_is_known_there_is_no_hint(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no key 'a'") as caught:
        written(tmp_path, "a = 1\n").check_tables({}, {})
    assert caught.value.hint is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name = true\n", "cannot use true: it must be a text ("),
        ("name = ['load', 'breach']\n", 'cannot use ["load", "breach"]: it must be a text ('),
        ("name = ''\n", "cannot use '': it must be a text that is not empty ("),
        ("mode = true\n", "true is no mode ("),
        ("mode = ['a']\n", '["a"] is no mode ('),
        ("mode = 'c'\n", "'c' is no mode ("),
    ],
)
def test_values_are_told_as_the_file_has_them(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        written(tmp_path, content).read("", {**KEYS, "mode": one_of({"a": 1, "b": 2}, "mode")})
    assert caught.value.message.startswith(message)


def test_a_table_that_stands_twice_is_told_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"Cannot declare service\.a twice \("):
        written(tmp_path, "[service.a]\n[service.a]\n")


def test_every_key_that_is_missing_is_named_with_the_line_of_its_table(file: TomlFile) -> None:
    values = file.read("window", KEYS)
    file.require("window", values, ("name", "window_s"), "a window must be whole")
    with pytest.raises(InputError, match="a window must be whole") as caught:
        file.require("window", values, ("name", "settle_s", "interval"), "a window must be whole")
    assert (caught.value.wrong, caught.value.hint) == ("settle_s, interval is missing", "add settle_s, interval")
    assert str(caught.value.place).endswith("live.toml:5")


def test_known_tables_pass(file: TomlFile) -> None:
    file.check_tables({"window": None, "empty": None}, KEYS)
    with pytest.raises(InputError, match=r"there is no key 'empty' \(.*live\.toml:8\)"):
        file.check_tables({"window": None}, KEYS)


def test_a_reader_s_error_gets_the_line_and_keeps_what_it_knows(file: TomlFile) -> None:
    def build() -> None:
        raise InputError("R", value="V", place="word 3", hint="H")

    with pytest.raises(InputError) as caught:
        file.at("window", "window_s", build)
    assert caught.value.message.startswith("cannot use 'V': R (")
    assert str(caught.value.place).endswith("live.toml:7, word 3")
    assert caught.value.hint == "H"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("a = 1\nb = \n", 2),
        ("a = 1\na = 2\n", 2),
        ('a = """\n\n', 2),
        (f"a = {'9' * 5000}\n", 1),
        (f"a = {'[' * 20_000}\n", 1),
    ],
)
def test_what_is_no_toml_has_a_line(tmp_path: Path, content: str, line: int) -> None:
    with pytest.raises(InputError, match="the file is not TOML: ") as caught:
        written(tmp_path, content)
    assert caught.value.place == f"{tmp_path}/live.toml:{line}"
    assert "at line" not in caught.value.message, "the place says it"


QUOTED = ".".join(['"a.b"', "'c'"] * 6_000)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (f"{'.'.join('a' * 12_000)} = 1", 1),
        (f"a = 1\n[{' . '.join('a' * 12_000)}]", 2),
        (f"a = '''\n\"'''\n[[{'.'.join('a' * 12_000)}]]", 3),
        (f"a = [\n {{ b = '#', {QUOTED} = 1 }}]", 2),
        (f"# it's\n{'.'.join('a' * 65)} = 1", 2),
        (f'x = {{a = """b"""", {".".join("c" * 65)} = 1}}', 1),
    ],
    ids=lambda value: str(value)[:12],
)
def test_a_key_of_very_many_parts_has_a_line(tmp_path: Path, content: str, line: int) -> None:
    with pytest.raises(InputError, match="a key must have at most 64 parts") as caught:
        written(tmp_path, content)
    assert caught.value.place == f"{tmp_path}/live.toml:{line}"


@pytest.mark.parametrize(
    "content",
    [f"{'.'.join('a' * 64)} = 1", f"a = '{'.'.join('a' * 99)}'", f"# {'.'.join('a' * 99)}\n", "a" * 10**6 + "=1"],
    ids=range(4),
)
def test_a_long_text_or_name_is_no_key_of_many_parts(tmp_path: Path, content: str) -> None:
    assert written(tmp_path, content).table_names() == (["a"] if content.startswith("a.") else [])


def test_a_file_of_settings_has_an_end(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a file of settings must have at most 1 MiB"):
        written(tmp_path, "\n" * (2**20 + 1))


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*none\.toml: no such file"):
        TomlFile(tmp_path / "none.toml")
    (tmp_path / "live.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="it is not text in UTF-8"):
        TomlFile(tmp_path / "live.toml")
    os.mkfifo(tmp_path / "pipe.toml")
    for path in (tmp_path / "pipe.toml", Path("/dev/zero")):
        with pytest.raises(InputError, match="it is no regular file"):
            TomlFile(path)


@given(st.floats() | st.integers(-20, 20))
@example(1)
@example(1.0)
@example(9)
@example(9.0)
def test_a_number_lies_within_its_bounds(value: float) -> None:
    if 1.0 <= value <= 9.0:
        assert number(1.0, 9.0)(value) == value
    else:
        with pytest.raises(InputError, match="it must be a number from 1 to 9"):
            number(1.0, 9.0)(value)


@pytest.mark.parametrize("value", [1, 9])
def test_both_ends_are_whole_numbers(value: int) -> None:
    assert whole(1, 9)(value) == value


@pytest.mark.parametrize(
    ("reader", "value", "message"),
    [
        (whole(1, 9), 0, "a whole number from 1 to 9"),
        (whole(1, 9), 10, "a whole number from 1 to 9"),
        (whole(1, 9), 2.0, "a whole number from 1 to 9"),
        (whole(0, 9), True, "a whole number from 0 to 9"),
        (number(0.0, 9.0), True, "a number from 0 to 9"),
        (number(0.0, 9.0), "3", "a number from 0 to 9"),
        (flag, 1, "true or false"),
        (flag, "true", "true or false"),
        (text, "", "a text"),
        (text, 3, "a text"),
    ],
)
def test_another_kind_of_value_is_refused(reader: Callable[[object], object], value: object, message: str) -> None:
    with pytest.raises(InputError, match=f"it must be {message}") as caught:
        reader(value)
    assert caught.value.value == value


def test_texts_and_flags_are_taken_as_they_are() -> None:
    assert (text("x"), flag(value=True), flag(value=False)) == ("x", True, False)


def test_a_table_is_a_file_of_its_own_whose_mistakes_have_their_lines(tmp_path: Path) -> None:
    outer = written(tmp_path, "[service.web]\nname = 'a'\n[service.web.window]\nwindow_s = 3\n[service.db]\n").below(
        "service"
    )
    assert outer.table_names() == ["web", "db"]
    web = outer.below("web")
    assert web.read("", KEYS) == {"name": "a"}
    assert web.read("window", KEYS) == {"window_s": 3.0}
    assert [web.place("", "name"), web.place("window", "window_s"), web.place("window"), web.place("")] == [
        f"{tmp_path / 'live.toml'}:{line}" for line in (2, 4, 3, 1)
    ]
    assert outer.below("db").values("") == {}
    with pytest.raises(InputError, match=r"there is no key 'window' \(.*:3\)"):
        web.check_tables({}, KEYS)
