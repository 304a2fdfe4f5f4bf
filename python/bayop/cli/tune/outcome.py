"""What comes of a search: its result, compared with the default where that was asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median

from bayop.confirm import DEFAULT, FOUND, Comparison
from bayop.live.doubts import other_load, unsteady_work
from bayop.saving import Looks
from bayop.search import Result
from bayop.space import Setting


@dataclass(frozen=True, slots=True)
class Outcome:
    """A search, and what came of its result.

    Attributes:
        result: The search.
        is_worth_holding: Whether its setting is worth holding, as far as was asked.
        comparison: What measuring it beside the default has shown; None where that was not done.
    """

    result: Result
    is_worth_holding: bool
    comparison: Comparison | None = None

    @property
    def setting(self) -> Setting | None:
        """What the search found, unless the comparison speaks against it."""
        return None if self.comparison is not None and not self.is_worth_holding else self.result.setting


def outcome_of(result: Result, looks: Looks | None, compare: Callable[[Setting, Looks], Comparison]) -> Outcome:
    """Compares what the search found with the default, where that was asked for and makes sense.

    What was to be compared and was not, because of Ctrl-C, is not kept.
    """
    setting = result.setting
    if looks is None or setting is None or result.is_default:
        return Outcome(result, is_worth_holding=setting is not None)
    if result.stopped == "interrupted":
        return Outcome(result, is_worth_holding=False)
    try:
        comparison = compare(setting, looks)
    except KeyboardInterrupt:
        return Outcome(replace(result, stopped="interrupted"), is_worth_holding=False)
    return Outcome(result, comparison.is_worth_holding, comparison)


def doubts(comparison: Comparison, qps: float) -> list[str]:
    """What its windows have shown that makes its numbers doubtful; `qps` is the stated load."""
    default, found = ([r[name] for r in comparison.rounds if not r[name].censored] for name in (DEFAULT, FOUND))
    busy = [u for m in default if (u := m.get("utilization")) is not None]
    loads = [q for m in (*default, *found) if (q := m.get("qps")) is not None]
    return unsteady_work(busy) + (other_load(median(loads), qps) if loads else [])
