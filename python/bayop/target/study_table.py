"""Reads a study: one CSV row a trial, units in the column names (the layout of the published study_*.csv files)."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bayop.errors import InputError
from bayop.slo import quantile_of

_REQUIRED: Final = ("os", "policy", "qps_offered", "itr_us", "freq_ghz", "power_w")
_POLICIES: Final = ("static", "default")

# Plausible ranges tell a wrong unit from a right one: 2900 in a column named freq_ghz is MHz.
_RANGES: Final[dict[str, tuple[float, float, str]]] = {
    "qps_offered": (1.0, 1e9, "requests/s"),
    "qps_measured": (0.0, 1e9, "requests/s"),
    "itr_us": (0.0, 20_000.0, "us"),
    "freq_ghz": (0.1, 10.0, "GHz"),
    "power_w": (0.1, 20_000.0, "W"),
    # Counters and clock do not agree to the last per cent: a saturated core may seem a little more than busy.
    "busy_frac": (0.0, 1.05, "a share of time"),
    "duration_s": (1e-3, 1e6, "s"),
    "energy_window_s": (1e-3, 1e6, "s"),
    "rapl_limit_w": (1.0, 20_000.0, "W"),
    "interrupts": (0.0, 1e15, "a count"),
}
_QUANTILE_RANGE: Final = (0.01, 6e7, "us")


@dataclass(frozen=True, slots=True)
class Row:
    """One trial of a study.

    Attributes:
        rx_usecs: ITR-delay in us, None for the default policy.
        freq_mhz: Requested frequency in MHz, None for the default policy.
        cap_w: RAPL cap in W, None when the study has no such column.
        quantities: What was measured, under the names of `Measurement`.
    """

    os: str
    qps: float
    rx_usecs: float | None
    freq_mhz: float | None
    cap_w: float | None
    quantities: dict[str, float]

    @property
    def is_default(self) -> bool:
        """Whether the operating system was left alone."""
        return self.rx_usecs is None


def read_study(path: Path) -> list[Row]:
    """All trusted rows of a study; rows that the study itself marks as mislabelled are left out.

    Raises:
        InputError: with file, line and column, for a missing column, a value that is no number, NaN, or one whose
            size says that it is in another unit than its column's name.
    """
    reader = csv.DictReader(io.StringIO(_text(path), newline=""), strict=True)
    try:
        rows = list(_rows(reader, path))
    except csv.Error as error:
        place = f"{path}, line {max(reader.reader.line_num, 1)}"
        raise InputError("a study is a CSV file", place=place, hint=str(error)) from error
    if not rows:
        raise InputError("a study has at least one trusted row", place=f"{path}, line {max(reader.line_num, 1)}")
    return rows


def uncapped(rows: Sequence[Row]) -> list[Row]:
    """The rows at the study's highest power cap, the processor's own limit, which never binds; all without caps."""
    highest = max((row.cap_w for row in rows if row.cap_w is not None), default=None)
    return [row for row in rows if row.cap_w == highest]


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError("the study can be read", value=str(path), hint=error.strerror) from error
    try:
        # Spreadsheets put a byte-order mark in front.
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError("a study is a CSV file in UTF-8", place=f"{path}, line {line}", hint=str(error)) from error


def _rows(reader: csv.DictReader[str], path: Path) -> Iterator[Row]:
    columns = list(reader.fieldnames or ())
    missing = [c for c in _REQUIRED if c not in columns]
    quantiles = [c for c in columns if quantile_of(c) is not None]
    if not quantiles:
        missing.append("p99_us")
    if missing:
        raise InputError(
            f"a study has the columns {', '.join(_REQUIRED)} and latency quantiles such as p99_us",
            value=f"no {', '.join(missing)}",
            place=f"{path}, line 1",
            hint=_rename_hint(missing, columns),
        )
    twice = sorted({c for c in columns if columns.count(c) > 1})
    if twice:
        raise InputError("a study has each column once", value=", ".join(twice), place=f"{path}, line 1")
    for record in reader:
        cells = _Cells(record, f"{path}, line {reader.line_num}")
        if not cells.flag("itr_mislabelled") and not cells.flag("freq_mislabelled"):
            yield _row(cells, quantiles)


def _row(cells: _Cells, quantiles: list[str]) -> Row:
    policy = cells.text("policy")
    if policy not in _POLICIES:
        raise InputError("policy is static or default", value=policy, place=cells.where("policy"))
    static = policy == "static"
    freq_ghz = cells.number("freq_ghz") if static else None
    return Row(
        os=cells.text("os"),
        qps=cells.number("qps_offered"),
        rx_usecs=cells.number("itr_us") if static else None,
        freq_mhz=None if freq_ghz is None else float(round(freq_ghz * 1000)),
        cap_w=cells.optional("rapl_limit_w"),
        quantities=_quantities(cells, quantiles),
    )


def _quantities(cells: _Cells, quantiles: list[str]) -> dict[str, float]:
    found = {"power_w": cells.number("power_w"), "qps": cells.optional("qps_measured")}
    found |= _latencies(cells, quantiles)
    busy = cells.optional("busy_frac")
    found["utilization"] = None if busy is None else min(busy, 1.0)
    duration_s, interrupts = cells.optional("duration_s"), cells.optional("interrupts")
    if duration_s is not None:
        found["duration_s"] = duration_s
        if interrupts is not None:
            # Some logs stop before the window ends; the counters then cover less than the load did.
            found["interrupts_per_s"] = interrupts / (cells.optional("energy_window_s") or duration_s)
    return {name: value for name, value in found.items() if value is not None and value > 0.0}


def _latencies(cells: _Cells, quantiles: list[str]) -> dict[str, float | None]:
    """The latency quantiles of a row; they rise with their number, or one of them is in another unit."""
    found = {name: cells.optional(name) for name in sorted(quantiles, key=lambda name: quantile_of(name) or 0.0)}
    below = 0.0
    for name, value in found.items():
        if value is not None and value < below:
            raise InputError(
                f"{name} is at least as long as the quantiles below it",
                value=value,
                place=cells.where(name),
                hint="is the value in another unit than the rest of the row?",
            )
        below = value or below
    return found


class _Cells:
    """The cells of one line, read with their place at hand."""

    def __init__(self, record: dict[str, str], line: str) -> None:
        self._record = record
        self._line = line
        if None in record or None in record.values():
            raise InputError("every line of a study has as many cells as the header", place=line)

    def where(self, column: str) -> str:
        return f"{self._line}, column {column}"

    def text(self, column: str) -> str:
        value = self._record[column].strip()
        if not value:
            raise InputError(f"{column} is not empty", place=self.where(column))
        return value

    def flag(self, column: str) -> bool:
        return self.optional(column) not in (None, 0.0)

    def optional(self, column: str) -> float | None:
        return self.number(column) if self._record.get(column, "").strip() else None

    def number(self, column: str) -> float:
        text = self.text(column)
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise InputError(f"{column} is a finite number", value=text, place=self.where(column))
        range_ = _QUANTILE_RANGE if quantile_of(column) is not None else _RANGES.get(column)
        if range_ is not None and not range_[0] <= value <= range_[1]:
            low, high, unit = range_
            raise InputError(
                f"{column} is in {unit} and lies between {low:g} and {high:g}",
                value=text,
                place=self.where(column),
                hint="is the value in another unit than the rest of the column?",
            )
        return value


def _rename_hint(missing: list[str], columns: list[str]) -> str:
    for name in missing:
        stem = name.rpartition("_")[0]
        other = next((c for c in columns if c.rpartition("_")[0] == stem and c != name), None)
        if stem and other is not None:
            return f"the file has {other}: convert it to {name.rpartition('_')[2]} and name it {name}"
    return f"the file has {', '.join(columns)}" if columns else "the file is empty"
