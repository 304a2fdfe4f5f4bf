from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayop.errors import InputError
from bayop.study import open_study
from bayop.study import text as text_module
from bayop.study.text import CsvText, read_bytes


def written(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def rows_of(path: Path) -> tuple[list[tuple[str, ...]], list[int]]:
    batches = list(CsvText(path).batches())
    rows = [tuple(str(cell) for cell in row) for batch in batches for row in batch.cells.rows()]
    return rows, [line for batch in batches for line in batch.lines]


def test_lines_are_counted_across_cells_of_several_lines_and_blank_ones(tmp_path: Path) -> None:
    text = "study,trial,target,machine,cut_short\n\ns,1,twin,m,\n\ns,x,twin,m,\n"
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="line 5, column trial"):
        open_study(tmp_path / "a.csv")


cells = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_whatever_stands_in_quotes_is_read_as_it_is(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, str]],
    end: str,
    packed: bool,  # noqa: FBT001
) -> None:
    quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in [("a", "b"), *rows]]
    content = (end.join(quoted) + end).encode()
    path = tmp_path_factory.mktemp("text") / "a.csv"
    read, _ = rows_of(written(path, gzip.compress(content) if packed else content))
    assert read == rows


def test_lines_are_those_that_a_row_ends_on(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", 'a,b\n1,2\n\n"3\n",4\n5,6')
    assert rows_of(path) == ([("1", "2"), ("3\n", "4"), ("5", "6")], [2, 5, 6])


def test_batches_follow_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "a.csv", "a\n" + "".join(f"{i}\n" for i in range(7)))
    monkeypatch.setattr(text_module, "_BATCH_ROWS", 3)
    assert [batch.lines for batch in CsvText(path).batches()] == [[2, 3, 4], [5, 6, 7], [8]]


def test_what_a_spreadsheet_puts_in_front_is_no_part_of_the_header(tmp_path: Path) -> None:
    assert CsvText(written(tmp_path / "a.csv", "\ufeff study , trial\n")).header == ["study", "trial"]


def test_compressed_text_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    assert rows_of(written(tmp_path / "a.csv", gzip.compress(b"a\n1\n"))) == ([("1",)], [2])


@pytest.mark.parametrize("content", ["", "\n", " , \n1,2\n"])
def test_a_file_begins_with_names(tmp_path: Path, content: str) -> None:
    path = written(tmp_path / "a.csv", content)
    with pytest.raises(InputError, match="the file is empty") as caught:
        CsvText(path)
    assert caught.value.place == f"{path}, line 1"


def test_each_name_is_there_once(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "b,a,c,a, b\n")
    with pytest.raises(InputError, match="a study must have each column once") as caught:
        CsvText(path)
    assert (caught.value.value, caught.value.place) == ("a, b", f"{path}, line 1")


@pytest.mark.parametrize("row", ["1", "1,2,3"])
def test_every_line_has_as_many_cells_as_the_header(tmp_path: Path, row: str) -> None:
    path = written(tmp_path / "a.csv", f"a,b\n1,2\n{row}\n")
    with pytest.raises(InputError, match="every line of a study must have as many cells as the header") as caught:
        rows_of(path)
    assert (caught.value.wrong, caught.value.place) == (f"the line has {len(row.split(','))} cells", f"{path}, line 3")


def test_quotes_of_the_header_match(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", '"a"x,b\n')
    with pytest.raises(InputError, match="the file is not CSV") as caught:
        CsvText(path)
    assert caught.value.place == f"{path}, line 1"


@pytest.mark.parametrize(("row", "line"), [('"1"x,2', 3), ('"1,2', 3)])
def test_quotes_match(tmp_path: Path, row: str, line: int) -> None:
    path = written(tmp_path / "a.csv", f"a,b\n1,2\n{row}\n")
    with pytest.raises(InputError, match="the file is not CSV") as caught:
        rows_of(path)
    assert caught.value.place == f"{path}, line {line}"


def test_another_encoding_is_refused_at_its_line(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "a\nb\ncaf\u00e9\n".encode("latin-1"))
    with pytest.raises(InputError, match="the file is not text in UTF-8") as caught:
        CsvText(path)
    assert caught.value.place == f"{path}, line 3"


def test_a_compressed_file_that_ends_early_is_refused_at_its_last_line(tmp_path: Path) -> None:
    lines = "".join(f"{i * 7919 % 10_007}\n" for i in range(100_000))
    content = gzip.compress(f"a\n{lines}".encode())
    path = written(tmp_path / "a.csv.gz", content[: len(content) // 2])
    with pytest.raises(InputError, match="the compressed study is cut short or damaged") as caught:
        CsvText(path)
    file, _, line = str(caught.value.place).rpartition(", line ")
    assert file == str(path)
    assert int(line) == pytest.approx(50_000, rel=0.1)


def test_a_compressed_file_without_its_end_is_refused_after_its_last_line(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv.gz", gzip.compress(b"a\n1\n2\n")[:-4])
    with pytest.raises(InputError, match="the compressed study is cut short or damaged") as caught:
        CsvText(path)
    assert caught.value.place == f"{path}, line 4"


def test_the_first_bytes_of_a_file(tmp_path: Path) -> None:
    path = written(tmp_path / "a", b"PAR1 and more")
    assert (read_bytes(path, 4), read_bytes(path)) == (b"PAR1", b"PAR1 and more")


def test_a_device_is_not_read_for_ever() -> None:
    with pytest.raises(InputError, match="cannot read /dev/zero: it is a device"):
        read_bytes(Path("/dev/zero"))


@pytest.mark.parametrize("name", ["none", ".", "a\x00b"])
def test_a_file_that_can_not_be_read_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError) as caught:
        read_bytes(tmp_path / name)
    assert caught.value.message.startswith(f"cannot read {tmp_path / name}: ")


def test_little_that_is_compressed_may_not_be_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_module, "_MOST_BYTES", 3 << 20)
    for name, content in (("a.csv", b"a" * (3 << 20) + b"a"), ("b.csv", gzip.compress(bytes(1 << 30), 1))):
        with pytest.raises(InputError, match="a study of text must have at most 3,145,728 bytes"):
            CsvText(written(tmp_path / name, content))


def test_the_names_of_very_many_columns_are_compared_in_no_time(tmp_path: Path) -> None:
    names = [f"c{n}" for n in range(200_000)]
    assert CsvText(written(tmp_path / "a.csv", ",".join(names))).header == names
    with pytest.raises(InputError, match="cannot use 'c1, c2': a study must have each column once"):
        CsvText(written(tmp_path / "a.csv", ",".join([*names, "c2", "c1"])))
