"""What a machine has drawn by the time of each record, between the moments at which its meter was read."""

from __future__ import annotations

from array import array
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


class Energy:
    """A meter's readings, in the order of their times; as a straight line between them.

    A meter is read twenty times a second, and RAPL counts a thousand times a second: what one record has of it is a
    share of what many have drawn, and their sum is exact.

    >>> energy = Energy()
    >>> energy.add(0, 0)
    >>> energy.add(1_000, 60)
    >>> energy.until(np.array([500, 1_000, 2_000]))
    array([30, 60, 60])
    """

    def __init__(self) -> None:
        self._times_ns = array("q")
        self._energies_uj = array("q")

    def add(self, time_ns: int, energy_uj: int) -> None:
        """Takes a reading."""
        self._times_ns.append(time_ns)
        self._energies_uj.append(energy_uj)

    def ending(self) -> Self:
        """What goes on from the last reading."""
        after = type(self)()
        if self._times_ns:
            after.add(self._times_ns[-1], self._energies_uj[-1])
        return after

    def until(self, times_ns: NDArray[Any]) -> NDArray[np.int64]:
        """What had been drawn by some times, in uJ; before the first and after the last reading as much as then."""
        if not self._times_ns:
            return np.zeros(len(times_ns), np.int64)
        first_ns = self._times_ns[0]
        # Differences fit into the 53 bits of a float, times since boot need not.
        times = times_ns.astype(np.int64) - first_ns
        readings = np.array(self._times_ns, np.int64) - first_ns
        drawn = np.interp(times, readings, np.array(self._energies_uj, np.int64))
        return np.rint(drawn).astype(np.int64)
