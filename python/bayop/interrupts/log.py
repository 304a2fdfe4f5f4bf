"""A log of any kind: what it is, where it can be cut, its records by the batch, and the line of a record."""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final, Literal, cast

from bayop.errors import InputError, unreadable
from bayop.interrupts import ebbrt_memory, intlog, parquet, published
from bayop.interrupts.batch import BadRecordError, Batch
from bayop.interrupts.ebbrt_memory import Memory
from bayop.interrupts.layout import Layout
from bayop.interrupts.text import not_a_log

BLOCK_BYTES: Final = 8 * 2**20
"""A file is read by the block; a block and what is made of it is all that memory holds of a log."""
PIECE_BYTES: Final = 256 * 2**20
"""A file is cut into pieces of about this size for a cluster."""

_LONGEST_LINE: Final = 4096
# With the one method that there is: the time of a record in memory may well begin like the two bytes alone.
_GZIP: Final = b"\x1f\x8b\x08"
_TORN: Final = (EOFError, zlib.error, gzip.BadGzipFile)
_PARQUET: Final = b"PAR1"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a log that can be summarised by itself: bytes of a file, rows of a Parquet file.

    Attributes:
        start: Where it starts.
        stop: Where it stops; None at the end.
    """

    start: int
    stop: int | None


@dataclass(frozen=True, slots=True)
class Log:
    """A log that was looked into; small enough to be sent to another machine that sees the same files.

    Attributes:
        path: The file.
        kind: How it is written.
        layout: What its numbers mean.
        header: The columns of a published log, in their order.
        start: Where the first record begins, in bytes; before it may stand something that is none.
        memory: How it is laid out, of EbbRT's memory.
    """

    path: Path
    kind: Literal["intlog", "memory", "published", "parquet"]
    layout: Layout
    header: tuple[str, ...] = field(default=())
    start: int = 0
    memory: Memory | None = None

    def pieces(self) -> list[Piece]:
        """The parts that the log falls into; a compressed file is read from its start to its end, and so is one.

        Raises:
            InputError: the file can't be read.
        """
        if self.kind == "parquet":
            return [Piece(start, stop) for start, stop in parquet.pieces(self.path)]
        stop = None if self.memory is None else self.memory.stop
        with _open(self.path) as stream:
            if isinstance(stream, gzip.GzipFile):
                return [Piece(self.start, stop)]
            cuts = []
            size = stream.seek(0, 2)
            for offset in range(self.start + PIECE_BYTES, size, PIECE_BYTES):
                if self.memory is not None:
                    cuts.append(offset - (offset - self.start) % self.memory.record.itemsize)
                    continue
                stream.seek(offset)
                stream.readline()
                cuts.append(stream.tell())
        end = size if stop is None else min(size, stop)
        starts = [self.start, *(cut for cut in dict.fromkeys(cuts) if self.start < cut < end)]
        return [Piece(a, b) for a, b in zip(starts, [*starts[1:], stop], strict=True)]

    def batches(self, piece: Piece) -> Iterator[Batch]:
        """The records of a piece.

        Raises:
            InputError: the file can't be read, or ends in the middle of its compressed stream.
            BadRecordError: something in it is no record.
        """
        if self.kind == "parquet":
            yield from parquet.read(self.path, self.layout, piece.start, piece.stop)
            return
        if self.memory is not None:
            with _open(self.path) as stream:
                yield from self.memory.read(stream, self.layout, piece.start, piece.stop, block_bytes=BLOCK_BYTES)
            return
        row = 0
        for block in self._blocks(piece):
            batch = (
                published.read_batch(block, self.layout, self.header, row)
                if self.header
                else intlog.read_batch(block, self.layout, row)
            )
            yield batch
            row += batch.interrupts.height

    def refusal(self, piece: Piece, error: BadRecordError) -> InputError:
        """What is said of a record that breaks a rule: with its line, or its row, and its column."""
        if self.kind == "parquet":
            place = f"{self.path}, row {piece.start + error.row + 1}"
            column = error.column
        elif self.memory is not None:
            before = (piece.start - self.start) // self.memory.record.itemsize
            place = f"{self.path}, record {before + error.row + 1}"
            column = error.column and intlog.name_of(error.column)
        else:
            place = f"{self.path}, line {self._lines_before(piece) + error.row + 1}"
            naming = published if self.header else intlog
            column = error.column and naming.name_of(error.column)
        if column is not None:
            place += f", column {column}"
        return InputError(error.rule, value=error.value, place=place, hint=error.hint)

    def _blocks(self, piece: Piece) -> Iterator[bytes]:
        with _open(self.path) as stream:
            stream.seek(piece.start)
            rest = math.inf if piece.stop is None else piece.stop - piece.start
            while block := stream.read(int(min(BLOCK_BYTES, rest))):
                if not block.endswith(b"\n"):
                    block += stream.readline(_LONGEST_LINE)
                rest -= len(block)
                yield block

    def _lines_before(self, piece: Piece) -> int:
        """Lines of the file that stand before a piece; counted only when something is wrong."""
        lines = 0
        with _open(self.path) as stream:
            rest = piece.start
            while rest > 0 and (read := stream.read(min(BLOCK_BYTES, rest))):
                lines += read.count(b"\n")
                rest -= len(read)
        return lines


def open_log(path: Path, *, tsc_hz: int | None = None, energy_unit_j: float | None = None) -> Log:
    """Finds out what kind of log a file is, from what it holds and not from its name.

    Args:
        path: The file; all but Parquet may be compressed with gzip.
        tsc_hz: Rate of the time stamp counter of the machine of an intlog text, or of EbbRT's memory (default: that of
            the papers' server).
        energy_unit_j: Unit of its energy counter, likewise.

    Raises:
        InputError: it can't be read, is no log, or holds its rates itself.
    """
    start = 0
    with _open(path) as stream:
        memory = ebbrt_memory.recognise(stream.read(ebbrt_memory.HEAD_BYTES))
        stream.seek(0)
        line = stream.readline(_LONGEST_LINE)
        if intlog.PREAMBLE.match(line):
            start = len(line)
            line = stream.readline(_LONGEST_LINE)
    place = f"{path}, line {2 if start else 1}"
    is_parquet = line.startswith(_PARQUET)
    if memory is not None and not is_parquet:
        layout = intlog.layout_of(intlog.EBBRT_FIELDS, tsc_hz=tsc_hz, energy_unit_j=energy_unit_j)
        return Log(path, "memory", layout, start=len(memory.head), memory=memory)
    first, line = line, line.partition(b"\n")[0]
    if not line:
        raise InputError("a log must have at least one record", wrong="the log is empty", place=place)
    if not is_parquet and published.SEPARATOR.encode() not in line:
        fields = line.split(intlog.SEPARATOR.encode())
        if len(fields) not in intlog.FIELD_COUNTS:
            counts = ", ".join(map(str, intlog.FIELD_COUNTS))
            raise not_a_log(place, line, f"a line of intlog has {counts} fields, this one {len(fields)}")
        layout = intlog.layout_of(len(fields), tsc_hz=tsc_hz, energy_unit_j=energy_unit_j)
        return Log(path, "intlog", layout, start=start)
    if tsc_hz is not None or energy_unit_j is not None:
        raise InputError("rates of a machine must go with intlog's text or EbbRT's memory", value=str(path))
    if is_parquet:
        return Log(path, "parquet", parquet.read_layout(path))
    layout, header = published.read_header(line, place)
    return Log(path, "published", layout, header, start + len(first))


@contextmanager
def _open(path: Path) -> Iterator[IO[bytes]]:
    try:
        with path.open("rb") as file:
            is_gzip = file.read(len(_GZIP)) == _GZIP
            file.seek(0)
            if is_gzip:
                with gzip.open(file, "rb") as stream:
                    yield cast(IO[bytes], stream)
            else:
                yield file
    except _TORN as error:
        place = f"{path}, line {_whole_lines(path) + 1}"
        raise InputError(wrong=f"the compressed log is cut short or damaged: {error}", place=place) from error
    except OSError as error:
        raise unreadable(path, error) from error


def _whole_lines(path: Path) -> int:
    """How many lines of a damaged compressed file can be read."""
    lines = 0
    with gzip.open(path, "rb") as stream, suppress(*_TORN):
        # One step of the decompressor at a time: what it gave before it failed counts.
        while text := stream.read1():
            lines += text.count(b"\n")
    return lines
