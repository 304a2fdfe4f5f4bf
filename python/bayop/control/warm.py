"""What is known for a load is held without a trial, when the load has come or shortly before."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from bayop.control.ledger import Ended, LedgerWindow, Search
from bayop.control.week import Coming
from bayop.domains import Value
from bayop.optimize.base import Optimizer, Problem
from bayop.optimize.grey_box.caution import Caution
from bayop.space import Knob, Setting, Space, setting_key

_KNOWN_WITHIN: Final = 0.05
"""Loads that differ by no more, as a share, are one load here."""

ENDED_BY_ITSELF: Final[tuple[Ended, ...]] = ("converged", "exhausted", "budget")
"""Why a search has ended that has found something."""

MOST_FOUND: Final = 500
"""So many results are known."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search that was not ended early has found, or what was held later instead of that.

    Attributes:
        qps: The load that it was found at, in requests/s.
        setting: What was found.
    """

    qps: float
    setting: Setting


class Warm:
    """What is known for which load, and which load is awaited.

    Args:
        found: What was found before.
        coming: The load that comes soon; None where nobody knows.
    """

    def __init__(self, found: Iterable[Found] = (), coming: Callable[[float], Coming | None] = lambda _: None) -> None:
        self._found = deque(found, maxlen=MOST_FOUND)
        self._coming = coming
        self._awaited_until_s = -math.inf

    def add(self, search: Search) -> None:
        """Takes in a search of the controller, of which only one that ended by itself has found something."""
        if search.setting is not None and search.stopped in ENDED_BY_ITSELF:
            self._found.append(Found(search.qps, search.setting))

    def polish(self, qps: float, setting: Setting) -> None:
        """Takes in what is held at a load instead of what was found."""
        self._found.append(Found(qps, setting))

    def forget(self) -> None:
        """Holds nothing without a trial that was found before: it saved nothing."""
        self._found.clear()

    def setting(
        self, problem: Problem, last: Search | None, make_optimizer: Callable[[Problem], Optimizer]
    ) -> Setting | None:
        """What may be held at a problem's load without a trial; None where nothing is known, or that is held for.

        It must have been found at this load, its windows there must all have met the SLO, and the model must trust it
        at this very load as it trusts what a search holds. Of several, the one of the least expected objective.

        Args:
            problem: What would be searched for.
            last: The last search.
            make_optimizer: Makes the optimizer whose model is asked.
        """
        if last is not None and _is_same(problem.qps, last.qps):
            return None
        here = [o for o in problem.history if _is_same(o.qps, problem.qps)]
        missed = {setting_key(o.setting) for o in here if not o.meets(problem.slo)}
        seen = {setting_key(o.setting) for o in here} - missed
        near = {setting_key(f.setting): f.setting for f in self._found if _is_same(f.qps, problem.qps)}
        candidates = [s for key, s in near.items() if key in seen and _is_inside(problem.space, s)]
        if not candidates:
            return None
        # The headroom is part of what has to be kept.
        optimizer = make_optimizer(replace(problem, slo=problem.aim, headroom=0.0))
        predictions = [(p, s) for s in candidates if (p := optimizer.predict(s)) is not None]
        least = Caution().trust if problem.objective.constrained else 0.0
        trusted = [(p.objective, n, s) for n, (p, s) in enumerate(predictions) if p.slo_probability >= least]
        return min(trusted)[2] if trusted else None

    def rise(self, now_s: float, qps: float, known: Callable[[float], Setting | None]) -> tuple[float, Setting] | None:
        """A load that comes soon and is more than a load `qps`, with what is known for it; awaited from now on."""
        coming = self._coming(now_s)
        if coming is None or coming.qps <= (1 + _KNOWN_WITHIN) * qps or (setting := known(coming.qps)) is None:
            return None
        self._awaited_until_s = coming.until_s
        return coming.qps, setting

    def awaits(self, now_s: float, window: LedgerWindow, held_for_qps: float) -> bool:
        """Whether a window of less load is no reason to search, since the load that is held for is still to come."""
        is_enough = window.meets_slo and window.qps <= (1 + _KNOWN_WITHIN) * held_for_qps
        return now_s < self._awaited_until_s and is_enough


def _is_same(qps: float, other_qps: float) -> bool:
    return math.isclose(qps, other_qps, rel_tol=_KNOWN_WITHIN)


def _is_inside(space: Space, setting: Setting) -> bool:
    """Whether a setting is one of the knobs and ranges that may be searched now, which may be others than they were."""
    return set(setting) == set(space.ids) and all(_holds(knob, setting[knob.id]) for knob in space.knobs)


def _holds(knob: Knob, value: Value) -> bool:
    if isinstance(value, str):
        return value in knob.values()
    numbers = knob.numbers()
    return bool(numbers) and min(numbers) <= value <= max(numbers)
