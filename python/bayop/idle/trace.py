"""Traces of idle periods: one row for each time that a core had nothing to do.

The columns, in whole microseconds: `start_us` when it went idle, `length_us` until something woke it, `timer_us` until
its next timer as it knew at the start, `waker` (0: another core or device, 1: the network, 2: that timer), `arrivals`:
polls of its receive queue that found packets since the period before, `arrival_age_us`: how long ago the last was, -1
when there was none yet. A trace that `bayop idle record` wrote holds what periods are made of, stays (`stays.py`).
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bayop.errors import InputError, unreadable
from bayop.idle import stays

INTERRUPT_COLUMNS: Final = ("time_us", "since_prev_us")
NO_TIMER_US: Final = 10_000_000
"""The distance to a timer that there is none of."""

_START_END_US: Final = 2**62
_MOST_STATES: Final = 10
_SHOWN: Final = 60
_FIT: Final = "numbers must be 0 or more and fit into 32 bits, start_us into 62"


@dataclass(frozen=True, slots=True)
class Trace:
    """Idle periods of one core.

    Attributes:
        name: What people call it.
        rows: The periods in order, each as `stays.PERIOD_COLUMNS` say.
        stays: What they are made of, each as `stays.COLUMNS` say; none where a kernel's choices were not recorded.
    """

    name: str
    rows: tuple[stays.Period, ...]
    stays: tuple[stays.Stay, ...] = ()


def read_trace(path: Path) -> Trace:
    """The trace in a CSV file, also with gzip.

    It has `stays.PERIOD_COLUMNS`, with or without a header, or those of stays; or it is a log with one record per
    interrupt, whose core is taken to be idle from one interrupt to the next.

    Raises:
        InputError: it is none.
    """
    name = path.name.removesuffix(".gz").removesuffix(".csv")
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            rows, recorded = _read(path, lines)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(wrong=f"cannot read {path}: it is not whole, or not of gzip", place=str(path)) from error
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from error
    if not any(length_us for _, length_us, *_ in rows):
        raise InputError("a trace must have idle periods longer than 0 us", value=str(path), place="TRACE")
    return Trace(name, rows, recorded)


def write_trace(trace: Trace, path: Path) -> None:
    """Writes a trace as CSV, with a header; with gzip when the file's name says so."""
    columns, rows = (stays.COLUMNS, trace.stays) if trace.stays else (stays.PERIOD_COLUMNS, trace.rows)
    with gzip.open(path, "wt") if path.suffix == ".gz" else path.open("w", encoding="utf-8") as file:
        file.write(",".join(columns) + "\n")
        file.writelines(",".join(map(str, row)) + "\n" for row in rows)


def _read(path: Path, lines: Iterable[str]) -> tuple[tuple[stays.Period, ...], tuple[stays.Stay, ...]]:
    """The periods, and the stays that they are made of where those were recorded."""
    numbered = enumerate(lines, start=1)
    words = next(numbered, (0, ""))[1].strip().split(",")
    if tuple(words) == stays.COLUMNS:
        recorded = tuple(_stay(path, number, line) for number, line in numbered)
        return tuple(stays.periods(recorded)), recorded
    return tuple(_rows(path, words, numbered)), ()


def _rows(path: Path, first: list[str], numbered: Iterator[tuple[int, str]]) -> Iterator[stays.Period]:
    if set(INTERRUPT_COLUMNS) <= set(first):
        yield from _interrupt_rows(path, first, numbered)
        return
    if tuple(first) != stays.PERIOD_COLUMNS and first != [""]:
        yield _row(path, 1, first)
    for number, line in numbered:
        yield _row(path, number, line.strip().split(","))


def _begin(line: str) -> str:
    """As much of a line as shows which it is."""
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."


def _stay(path: Path, number: int, line: str) -> stays.Stay:
    words = line.strip().split(",")
    try:
        state, tick_us, resumed = map(int, words[6:])
    except ValueError:
        rule = f"a line must have nine whole numbers: {', '.join(stays.COLUMNS)}"
        raise InputError(rule, value=_begin(",".join(words)), place=f"{path}:{number}") from None
    if not (0 <= state < _MOST_STATES and 0 <= tick_us < 2**32 and resumed in (0, 1)):
        rule = "state must be 0 to 9, tick_us fit into 32 bits and resumed be 0 or 1"
        raise InputError(rule, value=_begin(",".join(words)), place=f"{path}:{number}")
    tick = words[3:4] == [str(stays.TICK)]
    start, length, timer, waker, arrivals, age = _row(
        path, number, [*words[:3], str(stays.TIMER), *words[4:6]] if tick else words[:6]
    )
    return start, length, timer, stays.TICK if tick else waker, arrivals, age, state, tick_us, resumed


def _row(path: Path, number: int, words: list[str]) -> stays.Period:
    try:
        start, length, timer, waker, arrivals, age = (int(word) for word in words)
    except ValueError:
        rule = f"a line must have six whole numbers: {', '.join(stays.PERIOD_COLUMNS)}"
        raise InputError(rule, value=_begin(",".join(words)), place=f"{path}:{number}") from None
    if not (0 <= start < _START_END_US and all(0 <= count < 2**32 for count in (length, timer, arrivals))):
        raise InputError(_FIT, value=_begin(",".join(words)), place=f"{path}:{number}")
    if waker not in (stays.OTHER, stays.NETWORK, stays.TIMER) or not -1 <= age < 2**32:
        rule = "waker must be 0, 1 or 2 and arrival_age_us at least -1"
        raise InputError(rule, value=_begin(",".join(words)), place=f"{path}:{number}")
    return start, length, timer, waker, arrivals, age


def _interrupt_rows(path: Path, header: list[str], numbered: Iterable[tuple[int, str]]) -> Iterator[stays.Period]:
    time, gap = (header.index(column) for column in INTERRUPT_COLUMNS)
    for number, line in numbered:
        words = line.strip().split(",")
        try:
            time_us, gap_us = float(words[time]), float(words[gap] or 0)
        except (IndexError, ValueError):
            rule = f"a line must have {' and '.join(INTERRUPT_COLUMNS)}"
            raise InputError(rule, value=_begin(line.strip()), place=f"{path}:{number}") from None
        if not (0 <= time_us < _START_END_US and 0 <= gap_us < 2**32 and gap_us <= time_us):
            rule = "time_us must fit into 62 bits, and since_prev_us into 32 and not be more"
            raise InputError(rule, value=_begin(line.strip()), place=f"{path}:{number}")
        if gap_us >= 1:
            yield int(time_us - gap_us), int(gap_us), NO_TIMER_US, stays.NETWORK, 1, 0
