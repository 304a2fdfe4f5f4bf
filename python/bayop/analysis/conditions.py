"""Which trials may be compared: those that served the same work, and those that did so on the same system.

A *workload* is what was asked of a server (target, application, load or message size). A *condition* is a workload on
one system (machine, operating system, place where latency was measured): what is not tuned. Settings of a condition
compete with each other; conditions of a workload stand side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from bayop.space import FREQ_MHZ, RX_USECS
from bayop.study.schema import ASKED

WORKLOAD: Final = ("target", "app", "qps_offered", "message_bytes")
SYSTEM: Final = ("machine", "machine_fingerprint", "os", "vantage")
DELAY: Final = ASKED + RX_USECS
FREQUENCY: Final = ASKED + FREQ_MHZ


@dataclass(frozen=True, slots=True)
class Part:
    """Rows that agree in some columns.

    Attributes:
        keys: What they agree in; None where a column is empty. Columns that the table lacks are absent.
        rows: The rows.
    """

    keys: Mapping[str, Any]
    rows: pl.DataFrame


def condition_columns(frame: pl.DataFrame) -> list[str]:
    """The columns that say what was not tuned."""
    return [name for name in (*WORKLOAD, *SYSTEM) if name in frame.columns]


def asked_columns(frame: pl.DataFrame) -> list[str]:
    """The columns of the knobs."""
    return [name for name in frame.columns if name.startswith(ASKED)]


def is_default(frame: pl.DataFrame) -> pl.Expr:
    """Whether a row is the default: every knob left to the operating system."""
    return pl.all_horizontal(pl.lit(value=True), *(pl.col(name).is_null() for name in asked_columns(frame)))


def by_workload(frame: pl.DataFrame) -> Iterator[Part]:
    """The table in parts of one workload each, in the order of their names and loads."""
    yield from split(frame, WORKLOAD)


def by_condition(frame: pl.DataFrame) -> Iterator[Part]:
    """The table in parts of one condition each: by workload first, systems in the order of their names."""
    yield from split(frame, (*WORKLOAD, *SYSTEM))


def split(frame: pl.DataFrame, columns: Sequence[str]) -> Iterator[Part]:
    """The table in parts that agree in those of the columns that it has, in their order."""
    names = [name for name in columns if name in frame.columns]
    if not names or frame.is_empty():
        yield Part({}, frame)
        return
    # Most tables are one part; to see that costs nothing, to split ten million rows does.
    first = frame.row(0, named=True)
    keys = {name: first[name] for name in names}
    if frame.select(pl.all_horizontal(pl.col(n).eq_missing(pl.lit(v)).all() for n, v in keys.items())).item():
        yield Part(keys, frame)
        return
    parts = frame.partition_by(names, as_dict=True)
    for values in sorted(parts, key=lambda values: [(v is not None, v or 0) for v in values]):
        yield Part(dict(zip(names, values, strict=True)), parts[values])


def over_delay(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows that fix the ITR-delay, and leave every knob but the frequency to the operating system.

    Both knobs have their column, whether the table has it or not; a null is a frequency that was left alone.
    """
    absent = [pl.lit(None, pl.Float64).alias(name) for name in (DELAY, FREQUENCY) if name not in frame.columns]
    others = [name for name in asked_columns(frame) if name not in (DELAY, FREQUENCY)]
    unset = [pl.col(name).is_null() for name in others]
    return frame.with_columns(absent).filter(pl.col(DELAY).is_not_null(), *unset)


def delay_and_frequency(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of `over_delay` that fix the frequency too."""
    return over_delay(frame).filter(pl.col(FREQUENCY).is_not_null())


def is_closed_loop(frame: pl.DataFrame) -> bool:
    """Whether clients waited for each answer before they asked again, so that time is a result and not a choice."""
    return "message_bytes" in frame.columns and frame["message_bytes"].null_count() < frame.height
