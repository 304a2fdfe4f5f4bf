"""Why this setting: what the model of a search expects of every other one that differs from it in one knob."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from bayop.domains import Value
from bayop.optimize.base import Prediction, Problem
from bayop.space import AUTO, Knob, Setting, fastest_setting

Move = Literal["lower", "higher", "fastest"]


@dataclass(frozen=True, slots=True)
class Alternative:
    """A setting that differs from the explained one in one knob.

    Attributes:
        knob: Which.
        move: The next value below, the next above, or the one that makes the service fastest: how much less the
            explained setting draws than that is what the knob contributes to it.
        value: The knob's other value.
        prediction: What the model expects of it.
    """

    knob: str
    move: Move
    value: Value
    prediction: Prediction


@dataclass(frozen=True, slots=True)
class Explanation:
    """A setting beside its alternatives.

    Attributes:
        setting: The setting.
        prediction: What the model expects of the setting itself.
        alternatives: Knob by knob; a value at the end of its range has only one neighbour.
    """

    setting: Setting
    prediction: Prediction
    alternatives: tuple[Alternative, ...]


def explain(problem: Problem, setting: Setting, predict: Callable[[Setting], Prediction | None]) -> Explanation | None:
    """What the model thinks of a setting and of those around it; None where there is no model.

    Args:
        problem: What was searched for.
        setting: The one to explain.
        predict: The optimizer's, after its search.
    """
    prediction = predict(setting)
    if prediction is None:
        return None
    space, fastest = problem.space, fastest_setting(problem.space)
    alternatives = []
    for knob in space.knobs:
        if not space.matters(knob.id, setting):
            continue
        for move, value in _moves(knob, setting[knob.id], fastest[knob.id]):
            other = predict(space.moved(setting, knob.id, value))
            if other is not None:
                alternatives.append(Alternative(knob.id, move, value, other))
    return Explanation(setting, prediction, tuple(alternatives))


def _moves(knob: Knob, value: Value, fastest: Value) -> list[tuple[Move, Value]]:
    moves: list[tuple[Move, Value]] = []
    if not isinstance(value, str):
        below = [n for n in knob.numbers() if n < value]
        above = [n for n in knob.numbers() if n > value]
        if below:
            moves.append(("lower", max(below)))
        if above:
            moves.append(("higher", min(above)))
    if fastest not in (AUTO, value, *(other for _, other in moves)):
        moves.append(("fastest", fastest))
    return moves
