from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.errors import says
from tests.support.interrupt_logs import (
    LINES,
    PUBLISHED_HEADER,
    changed,
    drawn_lines,
    ebbrt_lines,
    ebbrt_memory,
    netpipe_memory,
    only_c7,
    state_of,
    write_lines,
)
from tests.unit.interrupts.conftest import refusal

from bayop.errors import InputError
from bayop.interrupts import log as log_module
from bayop.interrupts.ebbrt_memory import HEAD_BYTES, NETPIPE_HEAD, NETPIPE_RECORD, RECORD, recognise
from bayop.interrupts.layout import COUNTERS
from bayop.interrupts.log import open_log
from bayop.interrupts.query import join, summarise, summarise_piece

PRINTED = tuple(ebbrt_lines()[1:])
Dump = Callable[[Sequence[str]], bytes]


def test_the_structures_are_as_long_as_the_parsers_say() -> None:
    assert (RECORD.itemsize, NETPIPE_RECORD.itemsize, NETPIPE_HEAD.itemsize) == (88, 72, 68)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("dump", [ebbrt_memory, netpipe_memory])
def test_memory_says_what_the_text_that_is_printed_from_it_says(
    tmp_path: Path, dump: Dump, pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_module, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(log_module, "PIECE_BYTES", 5000)
    lines = only_c7(drawn_lines(300, seed=3))
    text, memory = open_log(write_lines(tmp_path / "text", lines)), tmp_path / "memory"
    memory.write_bytes(pack(dump(lines)))
    log = open_log(memory, tsc_hz=text.layout.tsc_hz)
    assert (log.kind, log.layout) == ("memory", text.layout)
    assert state_of(summarise(log)) == state_of(summarise(text))
    pieces = log.pieces()
    assert len(pieces) == (1 if pack is gzip.compress else -(-len(dump(lines)) // 5000))
    parts = [(piece, summarise_piece(log, piece)) for piece in pieces]
    assert state_of(join(log, parts)) == state_of(summarise(text))


def test_every_column_is_where_the_structure_has_it(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    path.write_bytes(ebbrt_memory(PRINTED))
    log = open_log(path)
    (batch,) = log.batches(log.pieces()[0])
    assert batch.frame().row(4, named=True) == {
        "entry": 4, "rx_descriptors": 1, "rx_bytes": 66, "tx_descriptors": 0, "tx_bytes": 0, "instructions": 1_700_000,
        "cycles": 4_000_000, "ref_cycles": 5_900_000, "llc_misses": 90, "c3": 1, "c6": 0, "c7": 5,
        "energy_units": 204, "time_ticks": 10_005_800_000,
    }  # fmt: skip


TICKS = st.integers(1, 2**55)
COUNTS = st.integers(0, 2**47)


@given(
    st.lists(
        st.tuples(*[st.integers(0, 2**31 - 1)] * 4, st.tuples(*[COUNTS] * 7), st.integers(0, 2**32 - 1)), min_size=1
    ),
    st.lists(TICKS, min_size=1, unique=True),
    st.sampled_from([88, 72]),
)
def test_every_record_comes_back(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[object, ...]], ticks: list[int], size: int
) -> None:
    lines = []
    for entry, ((*traffic, counters, joules), tick) in enumerate(zip(drawn, sorted(ticks), strict=False)):
        lines.append(" ".join(map(str, [entry, *traffic, *counters, joules, tick])))  # type: ignore[misc]
    path = tmp_path_factory.getbasetemp() / "drawn"
    path.write_bytes(ebbrt_memory(lines) if size == 88 else netpipe_memory(lines))
    log = open_log(path)
    expected = [[int(cell) for cell in line.split(" ")] for line in (lines if size == 88 else only_c7(lines))]
    sampled = [row for row in expected if all(row[5:9]) and row[12]]
    (batch,) = log.batches(log.pieces()[0])
    names = ["entry", "rx_descriptors", "rx_bytes", "tx_descriptors", "tx_bytes", "time_ticks"]
    assert batch.interrupts.select(names).rows() == [(*row[:5], row[13]) for row in expected]
    samples = batch.samples.select(*COUNTERS[:-1], "c3", "c6", "c7", "energy_units", "time_ticks").rows()
    assert samples == [tuple(row[5:]) for row in sampled]


@given(st.integers(0, 6 * 88 - 1))
def test_memory_that_is_cut_short_is_refused_unless_its_records_are_whole(
    tmp_path_factory: pytest.TempPathFactory, length: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "cut"
    path.write_bytes(ebbrt_memory(PRINTED)[:length])
    whole = length // 88
    if whole and length == whole * 88:
        assert summarise(open_log(path)).records == whole
        return
    error = refusal(path)
    if whole:
        assert says(
            error, f"{path}, record {whole + 1}: cannot use {length % 88}: a record of this log must have 88 bytes"
        )
        assert str(error.hint).endswith(f"keep the first {whole * 88} bytes, its whole records")


@given(st.integers(0, 68 + 6 * 72 - 1))
def test_netpipes_memory_is_refused_when_it_is_cut_short(tmp_path_factory: pytest.TempPathFactory, length: int) -> None:
    path = tmp_path_factory.getbasetemp() / "cut"
    path.write_bytes(netpipe_memory(PRINTED, room=0)[:length])
    error = refusal(path)
    if length >= 68:
        place = f"{path}, record {(length - 68) // 72 + 1}"
        assert says(error, f"{place}: cannot use 'a log that is cut short': the memory must have all records")


@pytest.mark.parametrize(
    ("cell", "value", "message"),
    [
        (2, "-4", "record 3, column rx_bytes: cannot use -4: rx_bytes must be a whole number, not negative"),
        (5, "-1", "record 3, column instructions: cannot use -1: instructions must be a whole number, not negative"),
        (13, "7", "record 3, column timestamp: cannot use 7: a record must follow the one before it"),
        (13, "0", "record 3, column timestamp: cannot use 0: a record must have a time"),
    ],
)
def test_a_wrong_number_is_named(tmp_path: Path, cell: int, value: str, message: str) -> None:
    path = tmp_path / "memory"
    for content in (ebbrt_memory, netpipe_memory):
        path.write_bytes(content(changed(PRINTED, 2, cell, value, " ")))
        assert says(refusal(path), f"{path}, {message}")


def test_the_record_is_counted_from_the_start_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "PIECE_BYTES", 200)
    path = tmp_path / "memory"
    path.write_bytes(ebbrt_memory(changed(PRINTED, 5, 13, "0", " ")))
    assert says(refusal(path), f"{path}, record 6, column timestamp")


def test_memory_that_was_never_written_is_no_record(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    path.write_bytes(ebbrt_memory(PRINTED) + bytes(2 * 88))
    error = refusal(path)
    assert says(error, f"{path}, record 7, column timestamp: cannot use 0: a record must have a time")
    assert "never written" in str(error.hint)


def test_netpipes_memory_without_records(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    path.write_bytes(netpipe_memory([]))
    assert "the log is empty" in refusal(path).message


@pytest.mark.parametrize(
    "head",
    [
        b"",
        bytes(88),
        b"\xff" * 88,
        LINES[1].encode() * 2,
        PUBLISHED_HEADER.encode(),
        PUBLISHED_HEADER.encode("utf-16-le"),
        b"\x7fELF\x02\x01\x01"
        + bytes(9)
        + b"\x03\x00\x3e\x00\x01\x00\x00\x00"
        + b"\x00\x00\x00\x00\x40\x00\x38\x00" * 9,
        netpipe_memory(PRINTED, records=1_000_001),
        netpipe_memory(PRINTED, dvfs=0),
        netpipe_memory(PRINTED, goodput=float("nan")),
        netpipe_memory(PRINTED, goodput=-1.0),
    ],
)
def test_something_else_is_no_memory(head: bytes) -> None:
    assert recognise(head[:HEAD_BYTES]) is None


def test_a_time_that_begins_like_a_compressed_file_is_none(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    lines = changed(PRINTED, 0, 13, str(0x2_0000_8B1F), " ")
    path.write_bytes(ebbrt_memory(lines))
    assert summarise(open_log(path)).records == 6


def test_memory_is_told_its_machine_and_a_published_log_is_not(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(ebbrt_memory(PRINTED))
    assert open_log(path, tsc_hz=10**9, energy_unit_j=1e-3).layout.tick_hz == 10**9
    write_lines(path, [PUBLISHED_HEADER])
    with pytest.raises(InputError, match="rates of a machine must go with intlog's text or EbbRT's memory"):
        open_log(path, tsc_hz=10**9)
