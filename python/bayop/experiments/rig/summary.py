"""What a live experiment says: what its search saves, and how far that is from the best of its sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Final

from bayop.confirm import DEFAULT, Comparison, Round
from bayop.experiments.rig.record import LiveRecord, Point
from bayop.measurement import Measurement
from bayop.optimize.base import Problem
from bayop.saving import Looks, PairedSaving

SEARCH: Final = "search"
SWEEP: Final = "sweep"
"""The winners, as they are called when they are measured again beside the default."""


def compare(record: LiveRecord, problem: Problem) -> Comparison | None:
    """The search's setting beside the default, both measured again in turns; None without a setting."""
    rounds = _rounds(record, (DEFAULT, SEARCH))
    looks = Looks(record.most_pairs)
    return Comparison.of([_round(r) for r in rounds], problem, looks, a=DEFAULT, b=SEARCH) if rounds else None


def cpu_saving(record: LiveRecord) -> PairedSaving | None:
    """What the search's setting saves of the service's processor time for a request, in us; None where nobody knows."""
    pairs = []
    for points in _rounds(record, (DEFAULT, SEARCH)):
        default_us, found_us = (points[name].cpu_us for name in (DEFAULT, SEARCH))
        if default_us is not None and found_us is not None:
            pairs.append((default_us, found_us))
    return Looks(record.most_pairs).saving(pairs) if pairs else None


def shortfall(record: LiveRecord, problem: Problem) -> float | None:
    """How much more of the objective the search's setting takes than the best of the sweep, as a share.

    Both as measured again, in turns: less than 0 when the search has found a better one. None when one is missing.
    """
    means = [_mean_objective(record.again.get(name, ()), problem) for name in (SEARCH, SWEEP)]
    search, best = means
    return None if search is None or best is None else search / best - 1.0


def _rounds(record: LiveRecord, names: Sequence[str]) -> list[Mapping[str, Point]]:
    """The rounds that all of some contenders have finished."""
    windows = zip(*(record.again.get(name, ()) for name in names), strict=False)
    return [dict(zip(names, points, strict=True)) for points in windows]


def _round(points: Mapping[str, Point]) -> Round:
    return {name: Measurement(p.quantities, cut_short=p.cut_short) for name, p in points.items()}


def _mean_objective(points: Sequence[Point], problem: Problem) -> float | None:
    whole: list[Mapping[str, float]] = [p.quantities for p in points if p.cut_short is None]
    return fmean(problem.objective.of(Measurement(q)) for q in whole) if whole else None
