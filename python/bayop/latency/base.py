"""The contract of a latency source: one window, what its clients saw, and from where that was seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Final, Protocol, runtime_checkable

from bayop.errors import InputError
from bayop.slo import IN_ORDER, quantile_of
from bayop.space import Setting


class Vantage(StrEnum):
    """Where a latency was measured. The SLO is on what clients see.

    Attributes:
        CLIENT: By the clients, or by what stands next to them: a load generator, a load balancer, a service mesh.
        PROBE: By an open-loop probe of our own on another host.
        SERVER_AND_WAIT: On the server, with the wait before the interrupt added.
        SERVER: On the server, from the first packet that the kernel sees.
    """

    CLIENT = "client"
    PROBE = "probe"
    SERVER_AND_WAIT = "server+wait"
    SERVER = "server"


SEARCHABLE: Final = (Vantage.CLIENT, Vantage.PROBE, Vantage.SERVER_AND_WAIT)
"""Vantages that a search may be fed with."""


GRACE_S: Final = 5.0
"""How much later than its window's end a source may answer; a lease that is not renewed meanwhile outlasts it."""


@dataclass(frozen=True, slots=True)
class Window:
    """The window of time that a source is asked about.

    Attributes:
        setting: What is in effect; empty while nothing is applied.
        duration_s: How long the window is.
        is_look: Whether a guard only looks at it: any quantile that it shows will do.
        is_watched: Whether anybody asks a source that is `Watched` what it has seen so far.
    """

    setting: Setting
    duration_s: float
    is_look: bool = False
    is_watched: bool = True


@dataclass(frozen=True, slots=True)
class Latency:
    """What clients saw in one window.

    Attributes:
        quantities: `p50_us` ... `p99_us`, `mean_us`, and `qps` where the source counts requests.
        vantage: Where it was measured.
        relative_sd: For some quantities, the relative standard deviation of this very number, as in a `Measurement`.

    Raises:
        InputError: a quantity is no number that a service could show, or a quantile is shorter than one below it.
    """

    quantities: Mapping[str, float]
    vantage: Vantage
    relative_sd: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value in self.quantities.items():
            if not 1e-6 <= value <= 1e12:
                raise InputError("a latency or a load must lie between 1e-6 and 1e12", value=value, place=name)
        ranked = sorted((q, name) for name in self.quantities if (q := quantile_of(name)) is not None)
        for (_, lower), (_, name) in pairwise(ranked):
            if self.quantities[name] < IN_ORDER * self.quantities[lower]:
                raise InputError(
                    "a quantile must be at least as long as those below it",
                    value=self.quantities[name],
                    place=name,
                    hint=f"{lower} is {self.quantities[lower]:g}: is one of them in another unit?",
                )


class LatencySource(Protocol):
    """Measures, or looks up, one window's latency."""

    def measure(self, window: Window, *, sleep: Callable[[float], None]) -> Latency:
        """Blocks until the window that begins now has been seen, and no more than `GRACE_S` longer.

        Args:
            window: What is measured.
            sleep: How to wait; it raises when the measurement has lost its meaning.

        Raises:
            InputError: there is no latency, or not one that a search may use.
        """
        ...


@runtime_checkable
class Sampling(Protocol):
    """A source that sees so few requests that its quantiles need windows of some length."""

    @property
    def least_window_s(self) -> float:
        """The shortest window that shows the SLO's quantile, in s."""
        ...


@runtime_checkable
class Watched(Protocol):
    """A source that also says, while a window runs, what clients see right now."""

    def recent(self) -> Latency | None:
        """What the last moments showed; None when nothing has been seen since the window began, also when it is over.

        Raises:
            BayopError: nothing more will be seen.
        """
        ...


@runtime_checkable
class Asking(Watched, Protocol):
    """A source that asks for what it says, between two of its sleeps: while it sleeps, nothing is new."""

    @property
    def asks_between_sleeps(self) -> bool:
        """Whether that is so."""
        ...


def check_vantage(vantage: Vantage, *, place: str) -> Vantage:
    """Refuses latencies that can't see what is tuned.

    Raises:
        InputError: it was measured on the server alone.
    """
    if vantage not in SEARCHABLE:
        raise InputError(
            "a search must be fed with what clients see",
            value=str(vantage),
            place=place,
            hint="on the server, nobody sees a packet wait for its interrupt, which is what rx_usecs lengthens: "
            "measure at a client, or add that wait and say server+wait",
        )
    return vantage
