"""Default and winner of a search, measured in turns: is its saving real, and does it keep the SLO?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import Final, Literal

from bayop.measurement import Measurement
from bayop.objective import Objective
from bayop.optimize.base import Problem
from bayop.saving import Looks, PairedSaving
from bayop.slo import QPS, Slo
from bayop.space import Setting, default_setting
from bayop.target.base import Target

DEFAULT: Final = "default"
FOUND: Final = "found"

Round = Mapping[str, Measurement]
"""One window of each contender, by its name."""

Verdict = Literal["saves", "meets", "breaks", "not significant", "unknown"]
"""What a comparison says of the setting: it `saves`; it `meets` an SLO that the default breaks, whatever it saves; it
`breaks` the SLO; its saving is `not significant`; or there was no whole pair."""

_MOST_CUT_SHORT: Final = 2
"""So many windows of the winner that its guard cut short end the comparison."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What rounds of windows say of a setting, beside the default or another setting.

    Attributes:
        rounds: The rounds, in order.
        saving: What the setting saves of the objective; None without a whole pair of windows.
        medians: By contender, the median of each quantity that the SLO names; a latency of a window that was cut short
            is infinity.
        verdict: What follows.
    """

    rounds: Sequence[Round]
    saving: PairedSaving | None
    medians: Mapping[str, Mapping[str, float]]
    verdict: Verdict

    @classmethod
    def of(
        cls, rounds: Sequence[Round], problem: Problem, looks: Looks, *, a: str = DEFAULT, b: str = FOUND
    ) -> Comparison:
        """Compares contender `b` with contender `a`."""
        pairs = objective_pairs(rounds, problem.objective, a, b)
        saving = looks.saving(pairs) if pairs else None
        medians = {name: _medians(rounds, name, problem.slo) for name in (a, b)} if rounds else {}
        verdict: Verdict = "not significant"
        if saving is None:
            verdict = "unknown"
        elif problem.objective.constrained and (
            not problem.slo.met_by(medians[b]) or _cut_short(rounds, b) >= _MOST_CUT_SHORT
        ):
            verdict = "breaks"
        elif problem.objective.constrained and not problem.slo.met_by(medians[a]):
            verdict = "meets"
        elif saving.significant:
            verdict = "saves"
        return cls(tuple(rounds), saving, medians, verdict)

    @property
    def is_worth_holding(self) -> bool:
        """Whether the setting is worth holding."""
        return self.verdict in ("saves", "meets")


def confirm(
    target: Target,
    setting: Setting,
    problem: Problem,
    looks: Looks,
    *,
    seed: int,
    on_round: Callable[[int, Round], None] = lambda _number, _pair: None,
) -> Comparison:
    """Measures the default and a setting in turns; leaves the setting applied when it is worth it, else the default.

    Args:
        target: What is tuned.
        setting: The winner of a search.
        problem: What was searched for.
        looks: How many pairs there may be, and when they are enough.
        seed: Of the order within each pair.
        on_round: Called after every pair with its number, from 1, for display and records.

    Raises:
        InputError: the target can't show its default.
        KeyboardInterrupt: somebody ended it; the default is back then, as after any other error.
    """
    rounds: list[Round] = []
    try:
        for pair in take_turns(target, {DEFAULT: None, FOUND: setting}, seed=seed):
            rounds.append(pair)
            on_round(len(rounds), pair)
            if is_enough(rounds, problem, looks):
                break
        comparison = Comparison.of(rounds, problem, looks)
        if comparison.is_worth_holding:
            target.apply(setting)
        else:
            target.restore()
    except BaseException:
        target.restore()
        raise
    return comparison


def take_turns(
    target: Target,
    contenders: Mapping[str, Setting | None],
    *,
    seed: int,
    on_window: Callable[[str, Measurement], None] = lambda _name, _window: None,
) -> Iterator[Round]:
    """Rounds without end: one window of each contender, in an order that is drawn anew for every round.

    Args:
        target: What is measured; it is left with the last contender applied.
        contenders: Settings by their names; None is the default.
        seed: Of the orders.
        on_window: Called after every window with its contender's name.
    """
    lot = Random(seed)
    names = list(contenders)
    while True:
        order = lot.sample(names, len(names))
        windows = {}
        for name in order:
            _apply(target, contenders[name])
            windows[name] = target.measure()
            on_window(name, windows[name])
            if windows[name].censored:
                # Clients do not wait for the round to end.
                _apply(target, None)
        yield {name: windows[name] for name in names}


def is_enough(rounds: Sequence[Round], problem: Problem, looks: Looks, *, a: str = DEFAULT, b: str = FOUND) -> bool:
    """Whether no further round is worth its time."""
    pairs = objective_pairs(rounds, problem.objective, a, b)
    return len(rounds) >= looks.most_pairs or _cut_short(rounds, b) >= _MOST_CUT_SHORT or looks.is_done(pairs)


def objective_pairs(rounds: Sequence[Round], objective: Objective, a: str, b: str) -> list[tuple[float, float]]:
    """The objective of both contenders in the rounds where both have one."""
    whole = [r for r in rounds if not (r[a].censored or r[b].censored)]
    pairs = [(objective.of(r[a]), objective.of(r[b])) for r in whole]
    return [pair for pair in pairs if all(map(math.isfinite, pair))]


def _apply(target: Target, setting: Setting | None) -> None:
    """As `target.base.put`, but applies the default where it can: under a lease it is measured as any setting is."""
    if setting is not None:
        target.apply(setting)
    elif target.space.auto:
        target.apply(default_setting(target.space))
    else:
        target.restore()


def _cut_short(rounds: Sequence[Round], name: str) -> int:
    return sum(r[name].censored for r in rounds)


def _medians(rounds: Sequence[Round], name: str, slo: Slo) -> dict[str, float]:
    """The median of everything that the SLO names; a window that was cut short counts as the worst there is."""

    def shown(window: Measurement, quantity: str) -> float:
        return (0.0 if quantity == QPS else math.inf) if window.censored else window[quantity]

    return {quantity: median(shown(r[name], quantity) for r in rounds) for quantity in slo.quantities}
