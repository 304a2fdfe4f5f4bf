"""What settings of a service have measured, as rows of the state and as observations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from bayop.measurement import Measurement
from bayop.optimize.base import Observation
from bayop.state.damage import Observed, StateError, sound

ROWS: Final = """
SELECT 'observation', id, setting, measured, relative_sd, cut_short, qps FROM observation WHERE service = ? ORDER BY id
"""
"""The observations of a service, oldest first."""


def observations(
    rows: Iterable[Sequence[Any]],
    path: Path,
    *,
    knobs: Collection[str],
    quantities: Collection[str],
    on_damage: Callable[[StateError], object],
) -> list[Observation]:
    """Those of some rows that are about the same knobs, and show what is asked for.

    Args:
        rows: As `ROWS` selects them.
        path: The file that they come from.
        knobs: Ids of what is searched.
        quantities: What a window must have shown; one that was cut short shows what it can.
        on_damage: Called with what is wrong with each row that is left out because it is damaged.
    """
    known = [
        Observation(row["setting"], Measurement(row["measured"], row["relative_sd"], row["cut_short"]), row["qps"])
        for row in sound(rows, Observed, path, on_damage)
    ]
    return [o for o in known if set(o.setting) == set(knobs) and _shows(o.measurement, quantities)]


def _shows(measurement: Measurement, quantities: Collection[str]) -> bool:
    shown = measurement.quantities.keys()
    return shown >= set(quantities) or (measurement.censored and (not shown or not shown.isdisjoint(quantities)))
