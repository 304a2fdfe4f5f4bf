"""EbbRT's log as it lies in the server's memory, which `get,CORE` answers with: records without any text.

EbbRT's driver keeps a packed little-endian structure for each interrupt; the authors' parsers print it as the lines
that `intlog` reads (https://github.com/handong32/intlog at a8aca0a, scripts/*/ebbrt/parse_ebbrt*.c):

    9 x int64   tsc, instructions, cycles, ref_cycles, llc_misses, joules, c3, c6, c7
    4 x int32   rx_desc, rx_bytes, tx_desc, tx_bytes

memcached, silo and Node.js answer with the records of a core, 88 bytes each, up to the last one. NetPIPE's have neither
c3 nor c6 (72 bytes); before them stand 68 bytes about the run, and behind the last one what else the memory has room
for, a million in all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Final

import numpy as np

from bayop.interrupts.batch import BadRecordError, Batch
from bayop.interrupts.intlog import batch_of, name_of
from bayop.interrupts.layout import COUNTERS, INTERRUPT_COLUMNS, Layout

IDLE_STATES: Final = ("c3", "c6", "c7")

_Records = np.ndarray[tuple[int], np.dtype[np.void]]
_TRAFFIC: Final = INTERRUPT_COLUMNS[2:]


def _record(*states: str) -> np.dtype[np.void]:
    wide = ("time_ticks", *COUNTERS, *states)
    return np.dtype([*((name, "<i8") for name in wide), *((name, "<i4") for name in _TRAFFIC)])


RECORD: Final = _record(*IDLE_STATES)
"""A record of memcached, silo and Node.js."""
NETPIPE_RECORD: Final = _record("c7")
"""A record of NetPIPE."""
NETPIPE_HEAD: Final = np.dtype(
    [
        ("sampled_at", "<u8"),
        *((name, "<u4") for name in ("records", "bytes", "loop", "dvfs", "rapl", "itr", "repeat")),
        ("start", "<u8"),
        ("end", "<u8"),
        *((name, "<f4") for name in ("package 0 J", "package 1 J", "goodput", "latency")),
    ]
)
"""What stands before NetPIPE's records."""
HEAD_BYTES: Final = max(RECORD.itemsize, NETPIPE_HEAD.itemsize)
"""So much of a file shows whether it is such memory."""
NETPIPE_ROOM: Final = 1_000_000
"""So many records NetPIPE's memory has room for."""

# What no counter can have reached; in text, these bytes are letters or digits.
_MOST_TICKS: Final = 2**56
_MOST_COUNTED: Final = 2**48
_MOST_ENERGY: Final = 2**32
_MOST_DVFS: Final = 0xFFFF
_MOST_RAPL_W: Final = 1000


@dataclass(frozen=True, slots=True)
class Memory:
    """How the memory of a log is laid out.

    Attributes:
        head: What stands before NetPIPE's records; empty before all others'.
    """

    head: bytes = b""

    @property
    def record(self) -> np.dtype[np.void]:
        """One record."""
        return NETPIPE_RECORD if self.head else RECORD

    @property
    def stop(self) -> int | None:
        """Where the last record ends, in bytes; None where the file does."""
        if not self.head:
            return None
        return len(self.head) + int(np.frombuffer(self.head, NETPIPE_HEAD)["records"][0]) * self.record.itemsize

    def run(self) -> str:
        """The line about NetPIPE's run that the authors' parser writes into `ebbrt.np.out.*`."""
        (head,) = np.frombuffer(self.head, NETPIPE_HEAD)
        label = f"{head['repeat']} {head['bytes']} {head['loop']} {int(head['dvfs']):#x} {head['rapl']} {head['itr']}"
        seen = " ".join(f"{head[name]:.4f}" for name in ("package 0 J", "package 1 J", "goodput", "latency"))
        return f"{label} {seen} {head['start']} {head['end']}\n"

    def read(
        self, stream: IO[bytes], layout: Layout, start: int, stop: int | None, *, block_bytes: int
    ) -> Iterator[Batch]:
        """The records between two places of a file.

        Args:
            stream: The file.
            layout: What the numbers mean.
            start: Where the first record begins, in bytes.
            stop: Where the last one ends; None where the file does.
            block_bytes: About so much is read at once.

        Raises:
            BadRecordError: the last one is not whole, or not there, or a number of one can't be.
        """
        size, row = self.record.itemsize, 0
        most = max(block_bytes // size, 1) * size
        stream.seek(start)
        while want := most if stop is None else min(most, stop - start):
            block = stream.read(want)
            whole = len(block) // size
            if whole:
                entry = (start - len(self.head)) // size
                yield _batch(np.frombuffer(block, self.record, whole), layout, row, entry)
            row, start = row + whole, start + whole * size
            if len(block) < want:
                surplus = len(block) - whole * size
                if stop is not None:
                    rule = "the memory must have all records that it is said to have"
                    raise BadRecordError(row, None, rule, value="a log that is cut short", hint="get it again")
                if surplus:
                    hint = f"the log is cut short: get it again, or keep the first {start} bytes, its whole records"
                    rule = f"a record of this log must have {size} bytes"
                    raise BadRecordError(row, None, rule, value=surplus, hint=hint)
                return


def recognise(head: bytes) -> Memory | None:
    """The layout of the memory that a file begins with; None where it is something else, such as text.

    Args:
        head: The first `HEAD_BYTES` of the file, or all of it.
    """
    if len(head) >= NETPIPE_HEAD.itemsize and _is_netpipe(head[: NETPIPE_HEAD.itemsize]):
        return Memory(head[: NETPIPE_HEAD.itemsize])
    return Memory() if len(head) >= RECORD.itemsize and _is_record(head[: RECORD.itemsize]) else None


def _is_netpipe(head: bytes) -> bool:
    (fields,) = np.frombuffer(head, NETPIPE_HEAD)
    seen = [float(fields[name]) for name in ("package 0 J", "package 1 J", "goodput", "latency")]
    return bool(
        fields["records"] <= NETPIPE_ROOM
        and fields["bytes"]
        and fields["loop"]
        and 0 < fields["dvfs"] <= _MOST_DVFS
        and 0 < fields["rapl"] <= _MOST_RAPL_W
        and all(fields[name] < _MOST_TICKS for name in ("sampled_at", "start", "end"))
        and np.isfinite(seen).all()
        and min(seen) >= 0.0
    )


def _is_record(head: bytes) -> bool:
    (fields,) = np.frombuffer(head, RECORD)
    *counters, energy = COUNTERS
    return bool(
        0 < fields["time_ticks"] < _MOST_TICKS
        and all(0 <= fields[name] < _MOST_COUNTED for name in (*counters, *IDLE_STATES))
        and 0 <= fields[energy] < _MOST_ENERGY
        and all(fields[name] >= 0 for name in _TRAFFIC)
    )


def _batch(records: _Records, layout: Layout, row: int, entry: int) -> Batch:
    """Some records as a batch.

    Args:
        records: As they lie in memory.
        layout: What the numbers mean.
        row: Of the first one, from the start of its piece.
        entry: Of the first one, from the start of the log.

    Raises:
        BadRecordError: a number is negative, or a record has no time.
    """
    import polars as pl

    _check(records, row)
    none = np.zeros(len(records), np.int64)
    columns = {name: records[name].astype(np.int64) for name in _names(records)}
    columns |= {state: none for state in layout.idle_states if state not in columns}
    columns["entry"] = np.arange(entry, entry + len(records))
    return batch_of(pl.DataFrame(columns), layout, row)


def _check(records: _Records, row: int) -> None:
    unwritten = np.flatnonzero(records["time_ticks"] == 0)
    if len(unwritten):
        hint = "memory behind the last record was never written; keep what is before it"
        rule = "a record must have a time"
        raise BadRecordError(row + int(unwritten[0]), "time_ticks", rule, value=0, hint=hint)
    for name in _names(records):
        negative = np.flatnonzero(records[name] < 0)
        if len(negative):
            rule, at = f"{name_of(name)} must be a whole number, not negative", int(negative[0])
            raise BadRecordError(row + at, name, rule, value=int(records[name][at]))


def _names(records: _Records) -> tuple[str, ...]:
    return records.dtype.names or ()
