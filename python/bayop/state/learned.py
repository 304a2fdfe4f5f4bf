"""What settings of a service have measured, as rows of the state and as observations."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from bayop.errors import BayopError, InputError, reason
from bayop.measurement import Measurement
from bayop.optimize.base import Observation

ROWS: Final = "SELECT setting, measured, relative_sd, cut_short, qps FROM observation WHERE service = ? ORDER BY id"
"""The observations of a service, oldest first."""


class StateError(BayopError):
    """What has happened can't be remembered, or is damaged: exit code 1."""


def observations(
    rows: Iterable[Sequence[Any]], service: str, path: Path, *, knobs: Collection[str], quantities: Collection[str]
) -> list[Observation]:
    """Those of some rows that are about the same knobs, and show what is asked for.

    Args:
        rows: As `ROWS` selects them.
        service: Whose they are.
        path: The file that they come from.
        knobs: Ids of what is searched.
        quantities: What a window must have shown; one that was cut short shows what it can.

    Raises:
        StateError: a row is damaged.
    """
    try:
        known = [
            Observation(json.loads(setting), Measurement(json.loads(measured), json.loads(sd), cut_short), qps)
            for setting, measured, sd, cut_short, qps in rows
        ]
        return [o for o in known if set(o.setting) == set(knobs) and _shows(o.measurement, quantities)]
    except (InputError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise StateError(
            wrong=f"what was learned of {service} is damaged: {reason(error)}",
            place=str(path),
            hint=f"bayop forget {service} begins anew",
        ) from error


def _shows(measurement: Measurement, quantities: Collection[str]) -> bool:
    shown = measurement.quantities.keys()
    return shown >= set(quantities) or (measurement.censored and (not shown or not shown.isdisjoint(quantities)))
