"""Several studies as one."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from bayop.errors import InputError
from bayop.study.schema import in_order

_IDENTITY = ("study", "trial")


def merge_studies(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """All trials; columns join by name, and a study that lacks one has nulls there.

    A trial that several have is kept once when they agree on everything that they both know.

    Raises:
        InputError: two studies tell different things of the same trial.
    """
    if not frames:
        raise InputError(wrong="no study is named")
    rows = pl.concat(frames, how="diagonal")
    rows = rows.select(in_order(rows.columns))
    twice = pl.struct(_IDENTITY).is_duplicated()
    groups = rows.filter(twice).group_by(_IDENTITY, maintain_order=True)
    others = [name for name in rows.columns if name not in _IDENTITY]
    if others:
        kinds = groups.agg(pl.col(others).drop_nulls().n_unique())
        for name in others:
            differing = kinds.filter(pl.col(name) > 1)
            if not differing.is_empty():
                study, trial = differing.select(_IDENTITY).row(0)
                raise InputError(
                    "studies that are merged must agree on the trials that they share",
                    value=f"different {name} in trial {trial} of {study}",
                    hint="give one of the campaigns another name in its column study",
                )
    joint = groups.agg(pl.col(others).drop_nulls().first())
    return pl.concat([rows.filter(~twice), joint.select(rows.columns)]).sort(_IDENTITY, maintain_order=True)
