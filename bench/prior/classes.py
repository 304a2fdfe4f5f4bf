"""Classes of servers for searches: learned from servers like the one that is searched, or from the wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
from bench.unknown.drawing import draw_server
from bench.unknown.play import problem_of
from bench.unknown.servers import Server
from bench.unknown.target import ServerTarget

from bayop.model.cells import select
from bayop.model.servers import servers
from bayop.optimize.base import Observation
from bayop.optimize.grey_box.learn import Lesson, lesson
from bayop.optimize.grey_box.outputs import RESIDUAL_SCALES
from bayop.optimize.grey_box.prior import SHAPES
from bayop.optimize.server_class import ServerClass, Spread
from bayop.slo import Slo
from bayop.space import FREQ_MHZ, RX_USECS
from bayop.study import open_study

# A sweep of a server that is learned from: so many frequencies, and delays at each.
_FREQUENCIES: Final = 8
_DELAYS: Final = 10
# Nonsense is so far from what holds for any server, in sds, and so sure of itself.
_SHIFT_SDS: Final = 3.0
_NONSENSE_SD: Final = 0.5


def study_lessons(path: Path, slo: Slo) -> dict[tuple[str, float], Lesson]:
    """What a study says of each operating system under each load."""
    return {
        (selection.os, problem.qps): lesson(problem, observations)
        for selection in select(open_study(path), slo)
        for problem, observations in servers(selection.cells)
    }


def drawn_lesson(scenario: str, number: int) -> Lesson | None:
    """What a noisy sweep of a server of an unknown physics says; None where none of it meets the SLO."""
    server = draw_server(scenario, number)
    target = ServerTarget(server, seed=number)
    observations = _sweep(server, target)
    return lesson(problem_of(server, target), observations) if observations else None


def nonsense() -> ServerClass:
    """A class that no server is of, learned by nobody, and sure of itself."""
    signs = np.random.default_rng(3).choice([-1.0, 1.0], size=len(SHAPES))
    shapes = {
        name: Spread(mean + float(sign) * _SHIFT_SDS * sd, _NONSENSE_SD * sd)
        for (name, (mean, sd)), sign in zip(SHAPES.items(), signs, strict=True)
    }
    return ServerClass(shapes, dict(RESIDUAL_SCALES))


def _sweep(server: Server, target: ServerTarget) -> list[Observation]:
    delays, clocks = (server.space[knob].numbers() for knob in (RX_USECS, FREQ_MHZ))
    windows = []
    for mhz in reversed(_some(clocks, _FREQUENCIES)):
        for delay_us in _some(delays, _DELAYS):
            in_effect = target.apply({RX_USECS: delay_us, FREQ_MHZ: mhz})
            windows.append(Observation(in_effect, target.measure(), server.qps))
    return [window for window in windows if window.meets(server.slo)]


def _some(values: tuple[float, ...], count: int) -> list[float]:
    return [values[i] for i in np.linspace(0, len(values) - 1, min(count, len(values))).round().astype(int)]
