"""What a study holds, in a few numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from bayop.study.schema import ASKED, column_of
from bayop.study.store import trusted

_WHO = ("study", "target", "machine", "os", "app")
_LOADS = ("qps_offered", "message_bytes")


@dataclass(frozen=True, slots=True)
class Campaign:
    """The trials of one campaign on one machine with one operating system and service.

    Attributes:
        who: `study`, `target`, `machine`, `os` and `app`, as far as they are told.
        trials: How many there are.
        loads: The offered loads in requests/s, or message sizes in B, ascending.
        settings: Different settings that were asked for, the default not counted.
        default_trials: Trials with every knob left to the operating system.
        repeats: The fewest and the most trials of a setting under a load.
        knobs: For each knob that was set: the least and the greatest number, or the choices.
        doubts: How many trials are not to be trusted, by reason.
    """

    who: Mapping[str, str | None]
    trials: int
    loads: Mapping[str, list[float]]
    settings: int
    default_trials: int
    repeats: tuple[int, int]
    knobs: Mapping[str, list[float | str]]
    doubts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Spread:
    """What was measured of one quantity, over the trials that are trusted.

    Attributes:
        quantity: Its name.
        trials: How many trials measured it.
        low: The least.
        median: The middle.
        high: The greatest.
    """

    quantity: str
    trials: int
    low: float
    median: float
    high: float


def campaigns(frame: pl.DataFrame) -> list[Campaign]:
    """Every campaign of a study, by name."""
    who = [name for name in _WHO if name in frame.columns]
    parts = frame.partition_by(who, maintain_order=True)
    entries = [_campaign(part, who) for part in parts]
    return sorted(entries, key=lambda c: [str(value or "") for value in c.who.values()])


def spreads(frame: pl.DataFrame) -> list[Spread]:
    """Every quantity that a trusted trial measured, in the schema's order."""
    measured = [name for name in frame.columns if column_of(name).measured]
    rows = trusted(frame)
    entries = []
    for name in measured:
        cells = pl.col(name)
        numbers = rows.select(n=cells.count(), low=cells.min(), median=cells.median(), high=cells.max()).row(
            0, named=True
        )
        if numbers["n"]:
            entries.append(Spread(name, numbers["n"], numbers["low"], numbers["median"], numbers["high"]))
    return entries


def _campaign(rows: pl.DataFrame, who: list[str]) -> Campaign:
    loads = [name for name in _LOADS if name in rows.columns and rows[name].count()]
    knobs = [name for name in rows.columns if name.startswith(ASKED)]
    cells = rows.group_by([*loads, *knobs]).len()
    is_set = pl.any_horizontal(pl.col(knobs).is_not_null()) if knobs else pl.lit(value=False)
    return Campaign(
        who={name: rows[name][0] for name in who},
        trials=rows.height,
        loads={name: rows[name].drop_nulls().unique().sort().to_list() for name in loads},
        settings=cells.filter(is_set).select(pl.struct(knobs).n_unique()).item() if knobs else 0,
        default_trials=rows.filter(~is_set).height,
        repeats=tuple(cells.select(low=pl.col("len").min(), high=pl.col("len").max()).row(0)),
        knobs={name.removeprefix(ASKED): _values(rows[name].drop_nulls()) for name in knobs if rows[name].count()},
        doubts=_doubts(rows),
    )


def _values(set_to: pl.Series) -> list[float | str]:
    if set_to.dtype == pl.String:
        return set_to.unique().sort().to_list()
    return pl.Series([set_to.min(), set_to.max()]).unique().sort().to_list()


def _doubts(rows: pl.DataFrame) -> dict[str, int]:
    reasons: dict[str, int] = {}
    if "suspect" in rows.columns:
        suspects = rows["suspect"].drop_nulls().value_counts(sort=True)
        reasons |= dict(suspects.iter_rows())
    if "cut_short" in rows.columns and rows["cut_short"].count():
        reasons["cut short"] = rows["cut_short"].count()
    return reasons
