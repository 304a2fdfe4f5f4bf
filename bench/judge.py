"""How searches are judged, whoever they are of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from bayop.search import Result
from bayop.space import Setting

TOLERANCE: Final = 1.02
"""A setting breaks the SLO when its true latency is over this times the limit: by more than measurements scatter."""


def held_after(result: Result, trials: int) -> Setting | None:
    """What would be held after a number of trials; a search that has ended keeps its result."""
    return result.trials[trials - 1].incumbent if len(result.trials) > trials else result.setting


def quantile(ordered: Sequence[float], share: float) -> float:
    """The least of the values that at least this share of them does not exceed."""
    return ordered[math.ceil(share * len(ordered)) - 1]


def trials_or_never(count: float) -> str:
    """After how many trials something came, for people; infinite where it did not."""
    return f"{count:.0f}" if math.isfinite(count) else "never"
