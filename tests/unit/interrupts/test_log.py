from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.interrupts.conftest import refusal

from bayop.errors import InputError
from bayop.interrupts import log as log_module
from bayop.interrupts.log import open_log
from bayop.interrupts.query import summarise
from bayop.testing.interrupt_logs import LINES, PUBLISHED_HEADER, changed, drawn_lines, ebbrt_lines, write_lines


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
    assert "at least one record" in refusal(write_lines(tmp_path / "log", [PUBLISHED_HEADER])).message


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_line_that_ebbrts_parser_prints_first_is_no_record(
    tmp_path: Path, pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_module, "PIECE_BYTES", 100)
    path = tmp_path / "log"
    first, *records = ebbrt_lines()
    path.write_bytes(pack("\n".join([first, *records, ""]).encode()))
    assert summarise(open_log(path)).records == len(records) == 6
    path.write_bytes(pack("\n".join([first, *records[:4], "1 2", ""]).encode()))
    assert refusal(path).message.startswith(f"{path}, line 6: a record of this log has 14 fields")
    path.write_bytes(pack(first.encode() + b"\n"))
    assert refusal(path).message == f"{path}, line 2: a log has at least one record"


def test_there_is_no_file(tmp_path: Path) -> None:
    assert "the log can be read" in refusal(tmp_path / "none").message
    assert "the log can be read" in refusal(tmp_path).message


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


def test_only_a_text_of_intlog_is_told_its_machine(data: Path) -> None:
    with pytest.raises(InputError, match="needs to be told"):
        open_log(data / "interrupts_netpipe_linux_default_64B.csv.gz", tsc_hz=1_000_000)
