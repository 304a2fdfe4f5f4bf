"""Studies for those who take trials one by one: the study target, and the validation of the twin."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

from bayop.errors import InputError
from bayop.recorded.table import Row
from bayop.recorded.target import StudyTarget
from bayop.slo import quantile_of
from bayop.space import FREQ_MHZ, RX_USECS
from bayop.study.example import study_file
from bayop.study.schema import ASKED
from bayop.study.store import open_study, trusted

_QUANTITIES: Final = ("power_w", "qps", "utilization", "duration_s", "interrupts_per_s")


def study_target(path: Path | str, *, os: str | None = None, qps: float, seed: int) -> StudyTarget:
    """The target that answers from one (os, load) cell of a study in a file: nothing is measured anew.

    Args:
        path: The file, or `example:memcached` for a study that comes with BayOp.
        os: Value of the study's `os` column; None for its only one, or `linux`.
        qps: Offered load in requests/s; one of the study's.
        seed: Seed of the measurement noise; the same seed gives the same sequence of measurements.

    Raises:
        InputError: the file is no study, or does not hold this os and load.

    Example:
        >>> from bayop import study_target
        >>> server = study_target("example:memcached", os="linux", qps=600_000, seed=0)
        >>> in_effect = server.apply({"nic.rx_usecs": 300, "cpu.freq_mhz": 1700})
        >>> round(server.measure()["power_w"])
        74
    """
    path = study_file(path)
    rows = read_rows(path)
    return StudyTarget(rows, source=str(path), os=system_of(rows) if os is None else os, qps=qps, seed=seed)


def system_of(rows: Sequence[Row]) -> str:
    """The operating system that answers where nobody says: the only one, or Linux."""
    first, *others = {row.os for row in rows}
    return "linux" if others else first


def read_rows(path: Path) -> list[Row]:
    """The trusted open-loop trials of a study.

    Raises:
        InputError: the file is no study, has no such trial, or is about several services or machines.
    """
    return open_loop_rows(trusted(open_study(path)), path)


def open_loop_rows(frame: pl.DataFrame, path: Path) -> list[Row]:
    """The same of a study that has been read from `path`.

    Raises:
        InputError: it has no such trial, or is about several services or machines.
    """
    quantities = [n for n in frame.columns if n in _QUANTITIES or quantile_of(n) is not None]
    for name in ("power_w", "qps_offered"):
        if name not in frame.columns:
            raise InputError(f"a study of an open loop must have {name}", wrong=f"{name} is missing", place=str(path))
    rows = frame.filter(pl.col("power_w").is_not_null() & pl.col("qps_offered").is_not_null())
    if rows.is_empty():
        raise InputError(
            "a study must have at least one trial of an open loop with its power",
            wrong="the study has none that is trusted",
            place=str(path),
        )
    _check_one_service(rows, path)
    knobs = sorted(
        (name.removeprefix(ASKED) for name in frame.columns if name.startswith(ASKED)),
        key=lambda knob: (knob != RX_USECS, knob != FREQ_MHZ, knob),
    )
    _check_numbers(rows, knobs, path)
    return [_row(fields, quantities, knobs) for fields in rows.iter_rows(named=True)]


def _check_numbers(rows: pl.DataFrame, knobs: Sequence[str], path: Path) -> None:
    """Nothing lies between two words, and trials that differ in one are no repeats of each other."""
    numbers = [pl.col(ASKED + knob) for knob in knobs if rows[ASKED + knob].dtype.is_numeric()]
    for knob in knobs:
        column = rows[ASKED + knob]
        words = column.drop_nulls().unique().sort().to_list()
        if column.dtype.is_numeric() or not words:
            continue
        fixed = rows.filter(pl.any_horizontal(number.is_not_null() for number in numbers)) if numbers else rows.clear()
        if fixed[ASKED + knob].n_unique() > 1 or column.len() - column.null_count() > fixed.height:
            raise InputError(
                "trials that stand for one server must set knobs to numbers",
                value=", ".join(words),
                place=f"{path}, column {ASKED}{knob}",
                hint="put the trials of each into a study of its own",
            )


def _check_one_service(rows: pl.DataFrame, path: Path) -> None:
    for name in ("app", "machine"):
        values = rows[name].drop_nulls().unique().sort().to_list() if name in rows.columns else []
        if len(values) > 1:
            raise InputError(
                "trials that stand for one server must be of one service on one machine",
                value=", ".join(values),
                place=f"{path}, column {name}",
                hint="put each into a study of its own",
            )


def _row(fields: dict[str, object], quantities: Sequence[str], knobs: Sequence[str]) -> Row:
    def number(name: str) -> float | None:
        value = fields.get(name)
        return float(value) if isinstance(value, int | float) else None

    measured = {name: value for name in quantities if (value := number(name)) is not None and value > 0.0}
    setting = {knob: value for knob in knobs if (value := number(ASKED + knob)) is not None}
    return Row(str(fields.get("os") or "unknown"), number("qps_offered") or 0.0, setting, measured)
