"""How deeply one CPU may sleep: a limit for its kernel's governor, from how long its stays were and what it chose.

The governor goes on choosing, and a limit changes what comes of it in a way that is known: what it would have spent in
a deeper state, it spends in the deepest one that the limit allows. So energy and latency under every limit follow from
one distribution, of lengths and states. Under a limit the kernel's own wish is not seen; it is taken from what it chose
for stays of that length when nothing limited it, and before there was any, to be the right state for the length.

Energies are in us of a core that polls, as in `bayop idle replay`, and so is the price of latency.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bayop.idle.machines import IdleState

MOST_LATE: Final = 0.01
"""The share of wake-ups that may be later than a limit of latency."""

_MEMORY: Final = 0.9
"""What a window counts for in the next one."""
_FREE_MEMORY: Final = 0.98
"""The same for what the kernel chooses when nothing limits it."""
_KNOWN: Final = 20.0
"""From so many stays of a length on, the kernel's choice for it is known."""
_FEW: Final = 10.0
"""Fewer stays than these say nothing."""
_GAIN: Final = 0.05
"""Another limit must be better by this share, in `_WINDOWS` windows one after another: limits that change all the time
would be noise for the kernel's governor, which learns too."""
_WINDOWS: Final = 5


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a limit makes of the stays that were seen.

    Attributes:
        energy_us: Of a stay, on average.
        latency_us: Of a wake-up, on average.
        late_share: Of the wake-ups, those later than the limit of latency; 0 without one.
    """

    energy_us: float
    latency_us: float
    late_share: float


class Depth:
    """Chooses the deepest state that one CPU may enter, again with every window of counted stays.

    Args:
        states: The machine's, from the shallowest to the deepest.
        bounds_us: The shortest length of each bin.
        price: What 1 us of latency is worth, in us of a polling core. Not used under a limit of latency.
        limit_us: At most `MOST_LATE` of the wake-ups may be later; None to weigh energy and latency by the price.
    """

    def __init__(
        self, states: Sequence[IdleState], bounds_us: Sequence[float], *, price: float, limit_us: float | None = None
    ) -> None:
        self._states = states
        self._price = price
        self._limit_us = limit_us
        ends_us = [*bounds_us[1:], 2.0 * bounds_us[-1]]
        self._lengths_us = [math.sqrt(max(low, 0.5) * high) for low, high in zip(bounds_us, ends_us, strict=True)]
        self._energy = StayEnergy(states)
        # A limit tells states apart by their latency; a CPU that only polls is nobody's wish.
        latencies_us = [state.exit_latency_us for state in states]
        self._levels = [
            index
            for index, latency_us in enumerate(latencies_us)
            if latency_us > 0 and latency_us not in latencies_us[index + 1 :]
        ] or [len(states) - 1]
        self._wished: dict[tuple[int, int], float] = {}
        self._free: defaultdict[int, defaultdict[int, float]] = defaultdict(lambda: defaultdict(float))
        self._better: int | None = None
        self._windows = 0
        self.deepest = self._levels[-1]
        """The deepest state allowed now, as an index."""

    @property
    def max_latency_us(self) -> int:
        """The limit that allows just that."""
        return self._states[self.deepest].exit_latency_us

    @property
    def is_limited(self) -> bool:
        """Whether it forbids anything."""
        return self.deepest != self._levels[-1]

    def see(self, stays: Mapping[tuple[int, int], int], *, is_in_effect: bool = True) -> bool:
        """Takes a window's stays and chooses again.

        Args:
            stays: How many, by state and bin.
            is_in_effect: Whether the limit was; nobody writes it in a rehearsal.

        Returns:
            Whether the choice is another one.
        """
        self._remember(stays, is_limited=is_in_effect and self.is_limited)
        if sum(self._wished.values()) < _FEW:
            return False
        outlooks = {level: self.outlook(level) for level in self._levels}
        # What cannot be kept by any limit is kept as well as can be.
        allowed = [level for level in self._levels if outlooks[level].late_share <= MOST_LATE] or self._levels[:1]
        best = min(allowed, key=lambda level: self._cost(outlooks[level]))
        if self.deepest in allowed:
            is_better = self._cost(outlooks[best]) < (1.0 - _GAIN) * self._cost(outlooks[self.deepest])
            self._windows = self._windows + 1 if is_better and best == self._better else int(is_better)
            self._better = best if is_better else None
            if self._windows < _WINDOWS:
                return False
        self._windows, self._better = 0, None
        is_other, self.deepest = best != self.deepest, best
        return is_other

    def outlook(self, level: int | None = None) -> Outlook:
        """What comes of a level; without one, of no limit."""
        deepest = self._levels[-1] if level is None else level
        energy_us = latency_us = late = total = 0.0
        for (wish, bin_), count in self._wished.items():
            state = min(wish, deepest)
            exit_latency_us = self._states[state].exit_latency_us
            energy_us += count * self._energy.us(state, self._lengths_us[bin_])
            latency_us += count * exit_latency_us
            late += count * (self._limit_us is not None and exit_latency_us > self._limit_us)
            total += count
        total = max(total, 1e-9)
        return Outlook(energy_us / total, latency_us / total, late / total)

    def _remember(self, stays: Mapping[tuple[int, int], int], *, is_limited: bool) -> None:
        wished = {key: _MEMORY * count for key, count in self._wished.items() if count > 1e-3}
        for (state, bin_), count in stays.items():
            wishes = self._wishes(state, bin_) if is_limited and state >= self.deepest else {state: 1.0}
            for wish, share in wishes.items():
                wished[wish, bin_] = wished.get((wish, bin_), 0.0) + share * count
        self._wished = wished
        if not is_limited:
            for chosen in self._free.values():
                for state in chosen:
                    chosen[state] *= _FREE_MEMORY
            for (state, bin_), count in stays.items():
                self._free[bin_][state] += count

    def _wishes(self, state: int, bin_: int) -> Mapping[int, float]:
        """What the kernel would have chosen without a limit for a stay in the deepest state, with its probability."""
        deeper = {other: count for other, count in self._free[bin_].items() if other >= state}
        total = sum(deeper.values())
        if total >= _KNOWN:
            return {other: count / total for other, count in deeper.items()}
        fits = [i for i, each in enumerate(self._states) if each.target_residency_us <= self._lengths_us[bin_]]
        return {max(state, *fits): 1.0}

    def _cost(self, outlook: Outlook) -> float:
        price = self._price if self._limit_us is None else 0.0
        return outlook.energy_us + price * outlook.latency_us


class StayEnergy:
    """Energy of a stay in each state.

    After its target residency, a state has taken as much as the one before it: so much does entering and leaving cost.

    Args:
        states: The machine's, from the shallowest to the deepest.
    """

    def __init__(self, states: Sequence[IdleState]) -> None:
        self._power_shares = [state.power_share for state in states]
        self._transitions_us: list[float] = []
        transition_us, power_share = 0.0, 1.0
        for state in states:
            transition_us += (power_share - state.power_share) * state.target_residency_us
            power_share = state.power_share
            self._transitions_us.append(transition_us)

    def us(self, state: int, length_us: float) -> float:
        """Of a stay of this length."""
        return self._transitions_us[state] + self._power_shares[state] * length_us
