from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

from bayop.errors import InputError
from bayop.interrupts.convert import convert
from bayop.interrupts.log import open_log
from bayop.interrupts.query import summarise
from bayop.testing.interrupt_logs import LINES, drawn_lines, state_of, write_lines

HEADER = (
    "entry,time_us,since_prev_us,rx_descriptors,rx_bytes,tx_descriptors,tx_bytes,instructions_cum,cycles_cum,"
    "ref_cycles_cum,llc_misses_cum,energy_pkg1_j_cum"
)
ROWS = (
    "5,5.349,,7,8594,4,108,0,0,0,0,0.0",
    "6,121.225,115.877,0,0,5,8246,,,,,",
    "7,1130.6,1009.375,0,0,0,0,500000,900000,1000000,7,2e-05",
)


def refusal(path: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        summarise(open_log(path))
    assert "\n" not in caught.value.message
    return caught.value


def changed(lines: tuple[str, ...], row: int, cell: int, value: str, separator: str) -> list[str]:
    cells = lines[row].split(separator)
    cells[cell] = value
    return [*lines[:row], separator.join(cells), *lines[row + 1 :]]


@pytest.mark.parametrize(
    ("row", "cell", "value", "said"),
    [
        (2, 2, "nan", "line 3, column rx_bytes: rx_bytes is a whole number, not negative, but got 'nan'"),
        (2, 2, "", "line 3, column rx_bytes: rx_bytes is a whole number"),
        (2, 2, "-4", "line 3, column rx_bytes: rx_bytes is a whole number, not negative, but got '-4'"),
        (2, 2, "1.5", "line 3, column rx_bytes: rx_bytes is a whole number"),
        (2, 2, "9" * 30, "line 3, column rx_bytes: rx_bytes is a whole number"),
        (2, 2, "4294967296", "line 3, column rx_bytes: rx_bytes lies between 0 and 4294967295, but got 4294967296"),
        (2, 15, "7", "line 3, column timestamp: the record follows the one before it, but got 7"),
        (3, 0, "2", "line 4, column i: the record follows the one before it, but got 2"),
        (4, 5, "999999", "line 5, column instructions: instructions does not run backwards"),
        (4, 6, "1", "line 5, column cycles: cycles does not run backwards"),
        (4, 14, "4294967199", "line 5, column joules: energy_units does not run backwards"),
        (4, 9, "6", "line 5, column c1: c1 does not run backwards"),
    ],
)
def test_a_wrong_cell_is_named(tmp_path: Path, row: int, cell: int, value: str, said: str) -> None:
    path = write_lines(tmp_path / "log", changed(LINES, row, cell, value, " "))
    assert refusal(path).message.startswith(f"{path}, {said}")


@pytest.mark.parametrize("line", ["1 2 3", "", LINES[2] + " 1", "x" * 9000])
def test_a_line_of_another_length_is_named(tmp_path: Path, line: str) -> None:
    path = write_lines(tmp_path / "log", [*LINES[:2], line, *LINES[3:]])
    assert refusal(path).message.startswith(f"{path}, line 3: a record of this log has 16 fields")


def test_the_logs_of_two_cores_in_one_file_are_refused(tmp_path: Path) -> None:
    error = refusal(write_lines(tmp_path / "log", [*LINES, *LINES]))
    assert "line 7, column i" in error.message
    assert "one core" in str(error.hint)


@pytest.mark.parametrize("text", ["", "\n", "hello\n", "1 2 3\n", "\x00\xff", "PAR1", "PAR1garbage PAR1", "a,b\n1,2\n"])
def test_something_else_is_no_log(tmp_path: Path, text: str) -> None:
    path = tmp_path / "log"
    path.write_text(text, encoding="latin-1")
    refusal(path)


def test_a_header_without_records(tmp_path: Path) -> None:
    assert "at least one record" in refusal(write_lines(tmp_path / "log", [HEADER])).message


def test_there_is_no_file(tmp_path: Path) -> None:
    assert "the log can be read" in refusal(tmp_path / "none").message
    assert "the log can be read" in refusal(tmp_path).message


def test_a_published_log(tmp_path: Path) -> None:
    summary = summarise(open_log(write_lines(tmp_path / "log.csv", [HEADER, *ROWS])))
    assert (summary.records, summary.samples) == (3, 2)
    assert summary.ends.times == (5_349, 1_130_600)
    assert summary.totals["energy_units"] == 2


@pytest.mark.parametrize(
    ("row", "cell", "value", "said"),
    [
        (1, 1, "NaN", "line 3, column time_us: time_us is a number, not negative, but got 'NaN'"),
        (1, 1, "1e300", "line 3, column time_us: time_us is a number"),
        (1, 1, "4", "line 3, column time_us: the record follows the one before it"),
        (1, 7, "12", "line 3, column cycles_cum: a record has all sampled counters or none"),
        (2, 8, "900000000000", "line 4, column cycles_cum: cycles does not run backwards, nor faster"),
    ],
)
def test_a_wrong_cell_of_a_published_log_is_named(tmp_path: Path, row: int, cell: int, value: str, said: str) -> None:
    path = write_lines(tmp_path / "log.csv", [HEADER, *changed(ROWS, row, cell, value, ",")])
    assert refusal(path).message.startswith(f"{path}, {said}")


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (HEADER.replace("rx_bytes", "rx_byts"), "but got 'no rx_bytes'"),
        (HEADER.replace("since_prev_us", "surprise"), "each column that is known once, but got 'surprise'"),
        (HEADER.replace("since_prev_us", "entry"), "each column that is known once, but got 'entry'"),
    ],
)
def test_the_header_of_a_published_log_is_checked(tmp_path: Path, header: str, said: str) -> None:
    path = write_lines(tmp_path / "log.csv", [header, *ROWS])
    message = refusal(path).message
    assert message.startswith(f"{path}, line 1: ")
    assert said in message


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_compressed_log_names_the_line_where_it_ends(tmp_path: Path, data: Path, kept: float) -> None:
    content = (data / "interrupts_netpipe_linux_default_64B.csv.gz").read_bytes()
    path = tmp_path / "log.csv.gz"
    path.write_bytes(content[: int(kept * len(content))])
    message = refusal(path).message
    assert message.startswith(f"{path}, line ")
    assert message.endswith("a compressed log is whole")
    line = int(message.removeprefix(f"{path}, line ").partition(":")[0])
    assert line == pytest.approx(kept * 10_194, abs=0.1 * 10_194)


def test_a_damaged_compressed_log(tmp_path: Path) -> None:
    content = bytearray(gzip.compress("\n".join(drawn_lines(500, seed=2)).encode()))
    content[len(content) // 2] ^= 0xFF
    path = tmp_path / "log.gz"
    path.write_bytes(content)
    refusal(path)


@pytest.mark.parametrize("kind", ["intlog", "published"])
def test_a_converted_log_says_the_same(tmp_path: Path, data: Path, kind: str) -> None:
    drawn = write_lines(tmp_path / "log", drawn_lines(400, seed=3))
    path = drawn if kind == "intlog" else data / "interrupts_netpipe_linux_default_64B.csv.gz"
    out = tmp_path / "log.parquet"
    before = summarise(open_log(path))
    assert convert(open_log(path), out) == before.records
    converted = open_log(out)
    assert converted.layout == before.layout
    assert state_of(summarise(converted)) == state_of(before)


def test_a_bad_log_leaves_no_file_behind(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log", [*LINES, "nonsense"])
    with pytest.raises(InputError, match="line 7"):
        convert(open_log(path), tmp_path / "out.parquet")
    assert [p.name for p in tmp_path.iterdir()] == ["log"]
    with pytest.raises(InputError, match="the file can be written"):
        convert(open_log(write_lines(path, LINES)), tmp_path / "none" / "out.parquet")


def test_another_parquet_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pl.DataFrame({"entry": [1]}).write_parquet(path)
    assert "written by bayop interrupts convert" in refusal(path).message


def test_a_converted_log_that_somebody_edited_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    convert(open_log(write_lines(tmp_path / "log", LINES)), path)
    metadata = {"bayop.interrupts": open_log(path).layout.to_json()}
    frame = pl.read_parquet(path)
    bad = pl.int_range(pl.len()) == 4
    for column, value, said in (
        ("rx_bytes", None, "row 5, column rx_bytes: every record has a value"),
        ("cycles", None, "row 5, column cycles: a record has all sampled counters or none"),
        ("time_ticks", 0, "row 5, column time_ticks: the record follows the one before it"),
    ):
        edited = frame.with_columns(pl.when(bad).then(pl.lit(value, pl.Int64)).otherwise(column).alias(column))
        edited.write_parquet(path, metadata=metadata)
        assert refusal(path).message.startswith(f"{path}, {said}")
    frame.drop("cycles").write_parquet(path, metadata=metadata)
    assert "but got 'cycles: none'" in refusal(path).message
    frame.write_parquet(path, metadata={"bayop.interrupts": "{}"})
    assert "describe its layout" in refusal(path).message


def test_only_a_text_of_intlog_is_told_its_machine(data: Path) -> None:
    with pytest.raises(InputError, match="needs to be told"):
        open_log(data / "interrupts_netpipe_linux_default_64B.csv.gz", tsc_hz=1_000_000)
