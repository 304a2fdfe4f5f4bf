"""Which trial is next, and when a sweep is done."""

from __future__ import annotations

import heapq
from collections.abc import Mapping

from bayop.experiments.sweep.plan import Cell, Plan, Trial
from bayop.measurement import Measurement


class Schedule:
    """The trials of a plan that are still to run.

    Whether a cell is repeated once more depends on its own repeats only, and no repeat is started before those that
    it depends on were seen: the set of trials does not depend on how many run at a time.

    Args:
        plan: The plan.
        earlier: What was measured before, by the number of the trial.
    """

    def __init__(self, plan: Plan, earlier: Mapping[int, Measurement]) -> None:
        self._plan = plan
        self._orders: dict[int, list[int]] = {}
        self._queue: list[tuple[int, int, Cell]] = []
        self._measurements: dict[int, dict[int, Measurement]] = {cell.number: {} for cell in plan.cells}
        self.done = len(earlier)
        """How many trials were seen."""
        self.planned = len(earlier)
        """How many trials are known to be needed, seen ones included; with a half-width it grows."""
        for number, measurement in earlier.items():
            cell, repeat = plan.place_of(number)
            self._measurements[cell.number][repeat] = measurement
        for cell in plan.cells:
            for repeat in range(1, plan.repeats.least + 1):
                if repeat not in self._measurements[cell.number]:
                    self._push(cell, repeat)
            self._repeat(cell)

    @property
    def imprecise(self) -> int:
        """How many cells are not known as well as was asked for, as far as they were measured."""
        repeats = self._plan.repeats
        return sum(not repeats.precise(list(measurements.values())) for measurements in self._measurements.values())

    def next(self) -> Trial | None:
        """A trial to run now; None when there is none, or none until one that runs was seen."""
        if not self._queue:
            return None
        repeat, _, cell = heapq.heappop(self._queue)
        return self._plan.trial(cell, repeat)

    def see(self, trial: Trial, measurement: Measurement) -> None:
        """Takes note of what a trial has measured."""
        self.done += 1
        self._measurements[trial.cell.number][trial.repeat] = measurement
        self._repeat(trial.cell)

    def _repeat(self, cell: Cell) -> None:
        """Plans the cell's next repeat when all that were planned were seen and it needs one."""
        measurements = self._measurements[cell.number]
        in_order = [measurements[repeat] for repeat in sorted(measurements)]
        if len(in_order) >= self._plan.repeats.least and not self._plan.repeats.enough(in_order):
            self._push(cell, len(in_order) + 1)

    def _push(self, cell: Cell, repeat: int) -> None:
        if repeat not in self._orders:
            self._orders[repeat] = self._plan.order(repeat)
        heapq.heappush(self._queue, (repeat, self._orders[repeat][cell.number - 1], cell))
        self.planned += 1
