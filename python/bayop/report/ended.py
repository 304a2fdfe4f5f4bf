"""Why a search ended, for people."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from bayop.search import Stopped

ENDED_BECAUSE: Final[Mapping[Stopped, str]] = MappingProxyType(
    {
        "converged": "no safe setting promises an improvement worth a trial",
        "infeasible": "no setting is believed to meet the SLO",
        "exhausted": "every setting was tried",
        "budget": "the trial budget is used up",
        "interrupted": "interrupted by Ctrl-C",
        "quiet": "these hours are to be quiet",
        "overspent": "the error budget is spent",
    }
)
"""The words for every `Stopped`."""
