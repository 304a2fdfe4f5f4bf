"""The repeats of a setting as one cell: its mean, and how far that mean can be trusted.

Studies repeat a setting two or three times, which says little about one setting's noise, but hundreds of settings
together say a lot. So a setting's variance is drawn towards the variance of its neighbours, as Smyth (2004, "Linear
models and empirical Bayes methods") does for genes: relative variances of a condition are pooled, and the pool counts
as much as `POOL_DOF` more repeats would.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np
import polars as pl

from bayop.analysis.conditions import asked_columns, condition_columns, is_default
from bayop.errors import InputError
from bayop.study.schema import RELATIVE_SD

POOL_DOF: Final = 4.0
"""How many repeats' worth of say a condition's pooled variance has."""

STANDARD_ERROR: Final = "se."
CLEAR: Final = 2.0
"""Standard errors of a difference that make it one."""
DOF: Final = "dof."
_OWN_REPEATS: Final = 3
"""From here on, the default's variance is its own: the policies in it make it unlike any fixed setting."""
_LOOK_ROWS: Final = 10_000
_MEDIAN_SE: Final = float(np.sqrt(np.pi / 2))
"""Standard error of a median over that of a mean, for normal noise."""

Centre = Literal["mean", "median"]


def cells(frame: pl.DataFrame, quantities: Sequence[str], *, centre: Centre = "mean") -> pl.DataFrame:
    """A row for every setting of every condition.

    Args:
        frame: Trials, as the study's schema has them; only trusted ones (`bayop.study.trusted`).
        quantities: What to average; nulls are no repeats.
        centre: `mean`, or `median` where a policy has more than one mode.

    Returns:
        The columns of the condition and of the knobs, `repeats`, and of every quantity q: `q`, its standard error
        `se.q`, and the degrees of freedom `dof.q` behind that. Both are null where nothing shows the noise: no setting
        of the condition has repeats, and the rows have no `relative_sd.q`.

    Raises:
        InputError: the study does not have a quantity.
    """
    missing = [name for name in quantities if name not in frame.columns]
    if missing:
        raise InputError(
            wrong=f"the study has no {', '.join(missing)}",
            value=", ".join(missing),
            hint=f"its columns: {', '.join(frame.columns)}",
        )
    keys = [*condition_columns(frame), *asked_columns(frame)]
    if _all_distinct(frame, keys):
        return _each_alone(frame, keys, quantities)
    aggregates = [a for name in quantities for a in _aggregates(frame, name, centre)]
    groups = frame.lazy().group_by(keys).agg(pl.len().alias("repeats"), *aggregates)
    table = groups.collect(engine="streaming")
    return _with_errors(table, keys, quantities, centre)


def relative_error(frame: pl.DataFrame, quantity: str) -> np.ndarray:
    """Standard errors of a quantity over its means; 0 where none is known."""
    relative = frame[STANDARD_ERROR + quantity] / frame[quantity]
    return relative.fill_null(0.0).to_numpy()


def _aggregates(frame: pl.DataFrame, name: str, centre: Centre) -> list[pl.Expr]:
    column = pl.col(name)
    sd = RELATIVE_SD + name
    stated = pl.col(sd).pow(2).mean() if sd in frame.columns else pl.lit(None, pl.Float64)
    return [
        column.mean() if centre == "mean" else column.median(),
        # A mean of 0 has no relative variance.
        (column.std() / column.mean()).pow(2).fill_nan(None).alias(f"own.{name}"),
        column.count().cast(pl.Float64).alias(f"count.{name}"),
        stated.alias(f"stated.{name}"),
    ]


def _each_alone(frame: pl.DataFrame, keys: Sequence[str], quantities: Sequence[str]) -> pl.DataFrame:
    """The cells when every row is a setting of its own, without the grouping: ten million of them are no burden."""
    alone = [pl.lit(1, pl.UInt32).alias("repeats")]
    for name in quantities:
        sd = RELATIVE_SD + name
        error = pl.col(name) * pl.col(sd) if sd in frame.columns else pl.lit(None, pl.Float64)
        dof = pl.when(error.is_not_null()).then(POOL_DOF)
        alone += [pl.col(name), error.alias(STANDARD_ERROR + name), dof.alias(DOF + name)]
    return frame.select(*keys, *alone)


def _all_distinct(frame: pl.DataFrame, keys: Sequence[str]) -> bool:
    """Whether no two rows share a setting; a clash of 64-bit hashes only costs the shortcut."""
    # A study with repeats shows one early.
    return all(_no_twins(rows, keys) for rows in (frame.head(_LOOK_ROWS), frame))


def _no_twins(frame: pl.DataFrame, keys: Sequence[str]) -> bool:
    if not keys:
        return False
    hashes = frame.select(pl.struct(keys).hash()).to_series().sort().to_numpy()
    return bool((hashes[1:] != hashes[:-1]).all())


def _with_errors(table: pl.DataFrame, keys: Sequence[str], quantities: Sequence[str], centre: Centre) -> pl.DataFrame:
    conditions = condition_columns(table)
    default = is_default(table)
    columns = [*keys, "repeats"]
    for name in quantities:
        own, count, stated = (pl.col(f"{what}.{name}") for what in ("own", "count", "stated"))
        extra = pl.when(own.is_null()).then(0.0).otherwise(count - 1)
        weight = pl.when(default).then(0.0).otherwise(extra)
        pooled = (own.fill_null(0.0) * weight).sum() / weight.sum()
        # 0 / 0 is NaN: no setting has repeats, so what the rows say of themselves counts.
        prior = (pooled.over(conditions) if conditions else pooled).fill_nan(None).fill_null(stated)
        moderated = (POOL_DOF * prior + extra * own.fill_null(0.0)) / (POOL_DOF + extra)
        alone = default & (count >= _OWN_REPEATS)
        variance = pl.when(alone | prior.is_null()).then(own).otherwise(moderated)
        dof = pl.when(alone | prior.is_null()).then(extra).otherwise(POOL_DOF + extra)
        factor = (variance / count).sqrt() * (1.0 if centre == "mean" else _MEDIAN_SE)
        error = pl.col(name) * factor
        table = table.with_columns(
            error.alias(STANDARD_ERROR + name), pl.when(error.is_not_null()).then(dof).alias(DOF + name)
        )
        columns += [name, STANDARD_ERROR + name, DOF + name]
    return table.select(columns)
