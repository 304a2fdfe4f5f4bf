"""Busy and idle episodes of a core, from how far its reference cycles advanced between two samples.

Reference cycles stand still while the core is halted, the time stamp counter never does: their ratio is the share of
time that the core was not halted. An interval between two samples in which that is a half or more is busy; an episode
is a run of busy or of idle intervals. Samples are about 1 ms apart, and so nothing shorter can be seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from bayop.interrupts.histogram import Whole
from bayop.interrupts.layout import Layout

SHARES: Final = 20
"""Intervals are counted by their busy share in steps of 1/20; the last step also holds what is over 1."""


@dataclass(frozen=True, slots=True)
class Run:
    """One episode."""

    busy: bool
    ticks: int


@dataclass(slots=True)
class Totals:
    """Episodes of one kind that are over."""

    count: int = 0
    ticks: int = 0
    longest_ticks: int = 0

    def add(self, ticks: Whole) -> None:
        """Counts some more."""
        if len(ticks):
            self.count += len(ticks)
            self.ticks += int(ticks.sum())
            self.longest_ticks = max(self.longest_ticks, int(ticks.max()))

    def merge(self, other: Totals) -> None:
        """Adds those of another part."""
        self.count += other.count
        self.ticks += other.ticks
        self.longest_ticks = max(self.longest_ticks, other.longest_ticks)


@dataclass(slots=True)
class Episodes:
    """The episodes of a part of a log; the first and the last may go on in the neighbouring parts.

    Attributes:
        shares: Intervals by their busy share.
        ends: The first and the last episode; one when all is one episode, none without intervals.
        closed: The episodes between them, by whether they are busy.
    """

    shares: Whole = field(default_factory=lambda: np.zeros(SHARES, dtype=np.int64))
    ends: tuple[Run, ...] = ()
    closed: dict[bool, Totals] = field(default_factory=lambda: {False: Totals(), True: Totals()})

    @classmethod
    def of(cls, layout: Layout, ticks: Whole, ref_cycles: Whole) -> Episodes:
        """The episodes of consecutive intervals: their lengths, and how far the reference cycles advanced in them."""
        episodes = cls()
        if not len(ticks):
            return episodes
        share = (ref_cycles / layout.tsc_hz) / (np.maximum(ticks, 1) / layout.tick_hz)
        step = np.minimum((SHARES * share).astype(np.int64), SHARES - 1)
        episodes.shares += np.bincount(step, minlength=SHARES)
        busy = step >= SHARES // 2
        starts = np.flatnonzero(np.diff(busy, prepend=not busy[0]))
        lengths, kinds = np.add.reduceat(ticks, starts), busy[starts]
        ends = {0, len(starts) - 1}
        episodes.ends = tuple(Run(busy=bool(kinds[i]), ticks=int(lengths[i])) for i in sorted(ends))
        for kind, totals in episodes.closed.items():
            totals.add(lengths[1:-1][kinds[1:-1] == kind])
        return episodes

    def merge(self, other: Episodes) -> None:
        """Appends the part that follows without an interval between the two."""
        self.shares += other.shares
        for kind, totals in self.closed.items():
            totals.merge(other.closed[kind])
        runs = [*self.ends, *other.ends]
        meeting = len(self.ends)
        if 0 < meeting < len(runs) and runs[meeting - 1].busy == runs[meeting].busy:
            whole = replace(runs[meeting], ticks=runs[meeting - 1].ticks + runs[meeting].ticks)
            runs[meeting - 1 : meeting + 1] = [whole]
        for run in runs[1:-1]:
            self.closed[run.busy].add(np.array([run.ticks]))
        self.ends = tuple(runs) if len(runs) < 3 else (runs[0], runs[-1])

    def all(self, *, busy: bool) -> Totals:
        """Every episode of a kind, the ends included."""
        every = replace(self.closed[busy])
        every.add(np.array([run.ticks for run in self.ends if run.busy == busy], dtype=np.int64))
        return every
