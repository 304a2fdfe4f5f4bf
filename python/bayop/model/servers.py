"""The servers of a study, for what they teach of their class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from bayop.domains import Choices
from bayop.measurement import Measurement
from bayop.model.cells import Array, Cells
from bayop.objective import Objective
from bayop.optimize.base import Observation, Problem
from bayop.space import FREQ_MHZ, RX_USECS, Knob, Space

_MOST_SETTINGS: Final = 300
"""More would take minutes and hardly teach more: neighbours share their residual."""


def servers(cells: Cells) -> Iterator[tuple[Problem, list[Observation]]]:
    """Each load of an operating system as a server: what its search would be about, and what was measured.

    The fastest setting comes first, as in a search.
    """
    objective = Objective.parse("power", cells.slo)
    for qps in cells.loads:
        own = cells.rows(np.flatnonzero(cells.qps == qps))
        own = own.rows(np.lexsort((own.delay_us, -own.freq_ghz)))
        if len(own) > _MOST_SETTINGS:
            own = own.rows(np.linspace(0, len(own) - 1, _MOST_SETTINGS).round().astype(np.intp))
        knobs = (
            Knob(RX_USECS, _values(own.delay_us), safest="low"),
            Knob(FREQ_MHZ, _values(1000.0 * cells.freq_ghz), safest="high"),
        )
        observations = [
            Observation({RX_USECS: own.delay_us[i], FREQ_MHZ: 1000.0 * own.freq_ghz[i]}, _measured(own, i), qps)
            for i in range(len(own))
        ]
        yield Problem(Space(knobs), cells.slo, objective, qps), observations


def _measured(cells: Cells, index: int) -> Measurement:
    names = ("power_w", cells.slo.quantity, "utilization")
    shown = {name: float(cells.measured(name)[index]) for name in names}
    return Measurement({name: value for name, value in shown.items() if not np.isnan(value)})


def _values(numbers: Array) -> Choices:
    return Choices(tuple(np.unique(numbers).tolist()))
