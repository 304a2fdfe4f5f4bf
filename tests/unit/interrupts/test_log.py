from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.errors import says
from tests.support.interrupt_logs import LINES, PUBLISHED_HEADER, changed, drawn_lines, ebbrt_lines, write_lines
from tests.unit.interrupts.conftest import refusal

from bayop.errors import InputError
from bayop.interrupts import log as log_module
from bayop.interrupts.log import open_log
from bayop.interrupts.query import summarise


@pytest.mark.parametrize(
    ("row", "cell", "value", "message"),
    [
        (2, 2, "nan", "line 3, column rx_bytes: cannot use 'nan': rx_bytes must be a whole number, not negative"),
        (2, 2, "", "line 3, column rx_bytes: rx_bytes must be a whole number"),
        (2, 2, "-4", "line 3, column rx_bytes: cannot use '-4': rx_bytes must be a whole number, not negative"),
        (2, 2, "1.5", "line 3, column rx_bytes: rx_bytes must be a whole number"),
        (2, 2, "9" * 30, "line 3, column rx_bytes: rx_bytes must be a whole number"),
        (
            2,
            2,
            "4294967296",
            "line 3, column rx_bytes: cannot use 4294967296: rx_bytes must lie between 0 and 4294967295",
        ),
        (2, 15, "7", "line 3, column timestamp: cannot use 7: a record must follow the one before it"),
        (3, 0, "2", "line 4, column i: cannot use 2: a record must follow the one before it"),
        (4, 5, "999999", "line 5, column instructions: instructions must not run backwards"),
        (4, 6, "1", "line 5, column cycles: cycles must not run backwards"),
        (4, 14, "4294967199", "line 5, column joules: energy_units must not run backwards"),
        (4, 9, "6", "line 5, column c1: c1 must not run backwards"),
    ],
)
def test_a_wrong_cell_is_named(tmp_path: Path, row: int, cell: int, value: str, message: str) -> None:
    path = write_lines(tmp_path / "log", changed(LINES, row, cell, value, " "))
    assert says(refusal(path), f"{path}, {message}")


@pytest.mark.parametrize("line", ["1 2 3", "", LINES[2] + " 1", "x" * 9000])
def test_a_line_of_another_length_is_named(tmp_path: Path, line: str) -> None:
    path = write_lines(tmp_path / "log", [*LINES[:2], line, *LINES[3:]])
    assert says(refusal(path), f"{path}, line 3: a record of this log must have 16 fields")


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
    assert says(refusal(path), f"{path}, line 6: a record of this log must have 14 fields")
    path.write_bytes(pack(first.encode() + b"\n"))
    assert says(refusal(path), f"{path}, line 2: the log is empty")


def test_there_is_no_file(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none").message == f"cannot read {tmp_path}/none: no such file"
    assert refusal(tmp_path).message == f"cannot read {tmp_path}: is a directory"


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_compressed_log_names_the_line_where_it_ends(tmp_path: Path, data: Path, share: float) -> None:
    content = (data / "interrupts_netpipe_linux_default_64B.csv.gz").read_bytes()
    path = tmp_path / "log.csv.gz"
    path.write_bytes(content[: int(share * len(content))])
    error = refusal(path)
    assert error.message.startswith("the compressed log is cut short or damaged")
    line = int(str(error.place).removeprefix(f"{path}, line "))
    assert line == pytest.approx(share * 10_194, abs=0.1 * 10_194)


def test_a_damaged_compressed_log(tmp_path: Path) -> None:
    content = bytearray(gzip.compress("\n".join(drawn_lines(500, seed=2)).encode()))
    content[len(content) // 2] ^= 0xFF
    path = tmp_path / "log.gz"
    path.write_bytes(content)
    refusal(path)


def test_only_a_text_of_intlog_is_told_its_machine(data: Path) -> None:
    with pytest.raises(InputError, match="rates of a machine must go with intlog's text"):
        open_log(data / "interrupts_netpipe_linux_default_64B.csv.gz", tsc_hz=1_000_000)
