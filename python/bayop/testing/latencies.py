"""The contract that every source of latency keeps, as tests to inherit.

In a plug-in's tests::

    from bayop.testing.latencies import LatencySourceContract

    class TestMine(LatencySourceContract):
        def make(self):
            return MySource()

        def make_broken(self):
            return MySource("http://127.0.0.1:1")
"""

# ruff: noqa: S101 -- assertions are what a contract suite is made of

from __future__ import annotations

import math
import threading
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import pytest

from bayop.errors import InputError
from bayop.latency.base import SEARCHABLE, Latency, LatencySource, Window
from bayop.slo import quantile_of

_LONG_S = 30.0


class LatencySourceContract(ABC):
    """Inherit, name the class `Test...`, and say how to make the source.

    Attributes:
        duration_s: A window long enough for the source to see something.
    """

    duration_s: ClassVar[float] = 1.0

    @abstractmethod
    def make(self) -> LatencySource:
        """A source of a service that is under load."""

    @abstractmethod
    def make_broken(self) -> LatencySource:
        """A source that can be made, but whose other side is not there."""

    def measure(self, source: LatencySource) -> Latency:
        """One window of the default."""
        return source.measure(Window({}, self.duration_s), sleep=time.sleep)

    def test_a_window_has_a_latency_that_a_search_may_use(self) -> None:
        """At least one quantile, positive finite numbers under known names, and a vantage that sees what is tuned."""
        latency = self.measure(self.make())
        assert any(quantile_of(name) for name in latency.quantities)
        assert all(quantile_of(name) or name in {"mean_us", "qps"} for name in latency.quantities)
        assert all(0.0 < value < math.inf for value in latency.quantities.values())
        assert latency.vantage in SEARCHABLE

    def test_quantiles_grow_with_their_rank(self) -> None:
        """A p99 below the p50 would be a mistake in names or units."""
        quantities = self.measure(self.make()).quantities
        ranked = sorted((q, quantities[name]) for name in quantities if (q := quantile_of(name)) is not None)
        assert [value for _, value in ranked] == sorted(value for _, value in ranked)

    def test_how_exact_a_number_is_belongs_to_a_number(self) -> None:
        """The search weighs observations by it."""
        latency = self.measure(self.make())
        assert set(latency.relative_sd) <= set(latency.quantities)
        assert all(0.0 < sd < math.inf for sd in latency.relative_sd.values())

    def test_one_source_measures_window_after_window(self) -> None:
        """A search has dozens, and each says the same names."""
        source = self.make()
        names = [set(self.measure(source).quantities) for _ in range(2)]
        assert names[0] == names[1]

    def test_a_window_that_lost_its_meaning_ends_at_once(self) -> None:
        """The lease was lost while the source waited: its `sleep` raises, and nothing may go on behind its back."""
        children, threads = _children(), threading.active_count()

        def lost(duration_s: float) -> None:
            raise InterruptedError(duration_s)

        started = time.monotonic()
        with pytest.raises(InterruptedError):
            self.make().measure(Window({}, _LONG_S), sleep=lost)
        assert time.monotonic() - started < _LONG_S / 2
        assert _children() <= children
        assert threading.active_count() <= threads

    def test_an_absent_other_side_is_said_in_one_message(self) -> None:
        """What happened and where: never a traceback, never a zero."""
        with pytest.raises(InputError) as caught:
            self.measure(self.make_broken())
        assert caught.value.message
        assert caught.value.place


def _children() -> set[int]:
    """This process's children; proc(5), /proc/PID/task/TID/children."""
    children: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        # A thread may end between the listing and the look.
        with suppress(FileNotFoundError):
            children.update(map(int, (task / "children").read_text().split()))
    return children
