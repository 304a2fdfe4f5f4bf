"""Reads load traces: hourly counts, and the raw requests of cache-trace.

An hourly trace is a CSV file with a header, one line an hour, as the published hourly counts of cache-trace. A raw one
has no header and a line for every request that begins with its time in seconds; it may be compressed (`.zst`).
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from bayop import _core
from bayop.errors import InputError, unreadable
from bayop.files import open_regular
from bayop.units import HOUR_S

_MAX_QPS: Final = 1e9


def is_raw(path: Path) -> bool:
    """Whether a file is a raw trace: it is compressed, or its first line begins with a number.

    Raises:
        InputError: the file can't be read, or is no regular one.
    """
    with open_regular(path) as file:
        try:
            return path.suffix == ".zst" or file.read(1).isdigit()
        except OSError as error:
            raise unreadable(path, error) from error


def read_raw_trace(path: Path) -> tuple[float, ...]:
    """Mean load of every hour of a raw trace, in requests/s; a last hour that is not complete is left out.

    Raises:
        InputError: with file and line, for a line that does not begin with an ascending time.
    """
    try:
        counts = _core.load_trace_counts(path, HOUR_S)
    except _core.Error as error:
        raise InputError.of(error) from error
    if not counts:
        raise InputError("a raw trace must last longer than an hour", wrong="the trace is too short", place=str(path))
    return tuple(count / HOUR_S for count in counts)


def read_arrivals(path: Path, most: int) -> tuple[float, ...]:
    """Times of the first `most` requests of a raw trace, in s since the first one.

    Where times are whole seconds, the requests of a second are spread evenly over it.

    Raises:
        InputError: with file and line, for a line that does not begin with an ascending time; or there is none.
    """
    try:
        times_s = tuple(_core.load_trace_times(path, most))
    except _core.Error as error:
        raise InputError.of(error) from error
    if not times_s:
        raise InputError("a raw trace must have a request", wrong="the trace is empty", place=str(path))
    return times_s


def length_s(times_s: Sequence[float]) -> float:
    """How long a raw trace with these arrivals lasts.

    As long as they come one by one at their mean gap, the last one's among them; a second where all come at once.
    """
    return times_s[-1] * len(times_s) / (len(times_s) - 1) if times_s[-1] else 1.0


def read_trace(path: Path) -> tuple[float, ...]:
    """Mean load of every hour, in requests/s, hours ascending without a gap.

    Raises:
        InputError: with file, line and column, for a missing column, an hour that is out of order, or a load that is
            not a positive number or contradicts the hour's request count.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            loads = tuple(_loads(csv.DictReader(file, strict=True), path))
    except OSError as error:
        raise unreadable(path, error) from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(wrong=f"the file is not a CSV file in UTF-8: {error}", place=str(path)) from error
    if not loads:
        raise InputError("a load curve must have at least one hour", wrong="the load curve is empty", place=str(path))
    return loads


def _loads(reader: csv.DictReader[str], path: Path) -> Iterator[float]:
    columns = list(reader.fieldnames or ())
    if "hour" not in columns or not {"qps_mean", "requests"} & set(columns):
        raise InputError(
            "a load curve must have the columns hour and qps_mean (or requests, the count of that hour)",
            wrong=f"the columns are {', '.join(columns) or 'missing'}",
            value=", ".join(columns) or None,
            place=f"{path}, line 1",
        )
    first: float | None = None
    for index, record in enumerate(reader):
        line = f"{path}, line {reader.line_num}"
        if None in record or None in record.values():
            raise InputError(
                "every line of a load curve must have as many cells as the header",
                wrong="the line has too many or too few cells",
                place=line,
            )
        hour = _number(record, "hour", line)
        first = hour if first is None else first
        if hour != first + index:
            raise InputError(
                "hours must follow each other without a gap", value=record["hour"], place=f"{line}, column hour"
            )
        yield _load(record, line)


def _load(record: dict[str, str], line: str) -> float:
    from_count = _positive(record, "requests", line) / HOUR_S if "requests" in record else None
    if "qps_mean" not in record:
        assert from_count is not None  # noqa: S101 -- the header has one of the two
        return from_count
    qps = _positive(record, "qps_mean", line)
    if from_count is not None and not math.isclose(qps, from_count, rel_tol=1e-2):
        raise InputError(
            "qps_mean must be requests / 3600",
            value=record["qps_mean"],
            place=f"{line}, column qps_mean",
            hint=f"{record['requests']} requests in an hour are {from_count:.2f} requests/s",
        )
    return qps


def _positive(record: dict[str, str], column: str, line: str) -> float:
    value = _number(record, column, line)
    limit = _MAX_QPS * (HOUR_S if column == "requests" else 1.0)
    if not 0.0 < value <= limit:
        raise InputError(
            f"{column} must be positive and at most {limit:g}",
            value=record[column],
            place=f"{line}, column {column}",
        )
    return value


def _number(record: dict[str, str], column: str, line: str) -> float:
    text = record[column].strip()
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{column} must be a finite number", value=text, place=f"{line}, column {column}")
    return value
