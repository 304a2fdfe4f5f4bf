"""What the model of a service's searches expects of its settings now, over the two knobs that matter most."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import product
from typing import Any, Final

import numpy as np

from bayop.daemon.web.content import JSON, Content, json_content
from bayop.optimize.base import Problem
from bayop.optimize.grey_box import GreyBox
from bayop.optimize.sealed import sealed
from bayop.space import Knob, Setting, evenly, fastest_setting

_MOST_COLUMNS: Final = 24
_MOST_ROWS: Final = 16
_DIGITS: Final = 5

_NOTHING: Final = Content(JSON, b"", HTTPStatus.NO_CONTENT)


@dataclass(slots=True)
class Maps:
    """The last map of each service; one is made at a time, and only when something new was measured."""

    _mutex: threading.Lock = field(default_factory=threading.Lock)
    _made: dict[str, tuple[object, Content]] = field(default_factory=dict)

    def of(self, name: str, problem: Problem | None) -> Content:
        """The map of a service; without content while there is nothing to show.

        Args:
            name: The service.
            problem: What its searches look for, with what they know; None while its machine is not reached.
        """
        if problem is None or not problem.history:
            return _NOTHING
        known = (problem.history, float(f"{problem.qps:.2g}"))
        with self._mutex:
            if name not in self._made or self._made[name][0] != known:
                self._made[name] = (known, json_content(_map(problem)))
            return self._made[name][1]


def _map(problem: Problem) -> dict[str, Any]:
    seen = [observation.setting for observation in problem.history]
    x, y = _axes(problem.space.knobs, seen)
    columns = evenly(x.numbers(), _MOST_COLUMNS)
    rows = [None] if y is None else evenly(y.numbers(), _MOST_ROWS)
    base = {**fastest_setting(problem.space), **seen[-1]}  # what is no axis stays as it was last
    settings = [
        {**base, x.id: column, **({} if y is None or row is None else {y.id: row})}
        for row, column in product(rows, columns)
    ]
    with sealed("grey-box"):
        belief = GreyBox(problem).believe(settings)
    shape = (len(rows), len(columns))
    axes = [{"knob": knob.id, "values": values} for knob, values in ((x, columns), (y, rows)) if knob is not None]
    used = {axis["knob"] for axis in axes}
    return {
        "axes": axes,
        "fixed": {knob: value for knob, value in base.items() if knob not in used},
        "qps": problem.qps,
        "minimised": problem.objective.name,
        "limit_us": problem.aim.limit_us,
        "cost": _rounded(belief.objective, shape),
        "latency_us": _rounded(belief.latency_us[0], shape),
        "safe": _rounded(belief.safe, shape),
        "observations": len(problem.history),
    }


def _axes(knobs: Sequence[Knob], seen: Sequence[Setting]) -> tuple[Knob, Knob | None]:
    """The knobs of most values in what was tried; of equals, the first ones of the file."""
    numbers = [knob for knob in knobs if len(knob.numbers()) > 1] or list(knobs[:1])
    first, *others = sorted(numbers, key=lambda knob: -len({setting.get(knob.id) for setting in seen}))
    pair = sorted([first, *others[:1]], key=numbers.index)
    return pair[0], pair[1] if len(pair) > 1 else None


def _rounded(values: Any, shape: tuple[int, int]) -> list[list[float]]:  # noqa: ANN401 -- an array
    finite = np.nan_to_num(np.asarray(values, dtype=float), posinf=1e300, neginf=-1e300)
    return [[float(f"{value:.{_DIGITS}g}") for value in row] for row in finite.reshape(shape)]
