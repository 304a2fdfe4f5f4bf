"""What a search would find, played against what somebody expects of every setting. Nothing is applied."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bayop.measurement import Measurement
from bayop.optimize import make_optimizer
from bayop.optimize.base import Optimizer, Prediction, Problem
from bayop.search import SearchSteps
from bayop.space import Setting


@dataclass(frozen=True, slots=True)
class Foresight:
    """How a search would go if every window showed what is expected.

    Attributes:
        setting: What it would hold; None for the default.
        first: What it would try first; None where it would try nothing.
        trials: How many settings it would try.
    """

    setting: Setting | None
    first: Setting | None
    trials: int


def foresee(problem: Problem, expect: Callable[[Setting], Measurement], *, max_trials: int, seed: int) -> Foresight:
    """Plays a search.

    Args:
        problem: What it would search for.
        expect: What a window of a setting is expected to show.
        max_trials: Its trial budget.
        seed: Of its optimizer.
    """
    optimizer = make_optimizer("grey-box", problem, seed=seed)
    steps = SearchSteps(problem, optimizer, max_trials=max_trials, timer=lambda: 0.0)
    while (setting := steps.ask()) is not None:
        steps.tell(setting, expect(setting))
    first = steps.trials[0].setting if steps.trials else None
    return Foresight(steps.incumbent, first, len(steps.trials))


def median_of(prediction: Prediction) -> Measurement:
    """The window that a model expects: one second of its medians."""
    power_w = prediction.quantities["power_w"]
    return Measurement({**prediction.quantities, "energy_j": power_w, "duration_s": 1.0})


def expected_by(optimizer: Optimizer) -> Callable[[Setting], Measurement]:
    """The expectation of an optimizer's model, which must have been told something."""

    def expect(setting: Setting) -> Measurement:
        prediction = optimizer.predict(setting)
        if prediction is None:
            raise TypeError("the optimizer has no model, or knows nothing yet")
        return median_of(prediction)

    return expect
