"""What governors would have made of recorded idle periods, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bayop import _core
from bayop.idle.machines import Machine
from bayop.idle.trace import Trace

PRICE: Final = 0.1
"""What `bayop` pays for 1 us of latency unless told otherwise, in us of a polling core."""
LIMIT_US: Final = 50
"""What is late for `bayop-slo` unless told otherwise."""


def governors() -> list[str]:
    """Names of the governors that can be replayed."""
    return _core.idle_governors()


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What a governor made of a trace.

    Attributes:
        trace: The trace's name.
        governor: The governor's name.
        energy_over_clairvoyant: Energy over the least that one could take who knows the length of every period.
        wake_latency_mean_us: How long what ended a period waited for the core, timers aside.
        wake_latency_p99_us: Its 99th percentile.
        too_deep: Share of decisions for a state whose target residency was not reached.
        too_shallow: Share of decisions where a deeper state would have been right.
        own_wakes: Wake-ups by a timer of the governor's own, for each decision.
        decisions: How often it was asked.
        ns_per_decision: Time of a decision.
    """

    trace: str
    governor: str
    energy_over_clairvoyant: float
    wake_latency_mean_us: float
    wake_latency_p99_us: float
    too_deep: float
    too_shallow: float
    own_wakes: float
    decisions: int
    ns_per_decision: float


def replay(
    trace: Trace, governor: str, machine: Machine, *, price: float = PRICE, limit_us: int = LIMIT_US
) -> Replayed:
    """Replays a trace on a machine's idle states.

    Args:
        trace: Idle periods.
        governor: One of `governors()`.
        machine: Whose idle states there are.
        price: What `bayop` pays for 1 us of latency, in us of a polling core.
        limit_us: What is late for `bayop-slo`, which lets 1 % of wake-ups be so.
    """
    outcome = _core.idle_replay(machine.table(), trace.rows, governor, price=price, limit_us=limit_us)
    decisions = outcome["decisions"]
    return Replayed(
        trace=trace.name,
        governor=governor,
        energy_over_clairvoyant=outcome["energy_us"] / max(outcome["least_energy_us"], 1e-9),
        wake_latency_mean_us=outcome["wake_latency_mean_us"],
        wake_latency_p99_us=float(outcome["wake_latency_p99_us"]),
        too_deep=outcome["too_deep"] / max(decisions, 1),
        too_shallow=outcome["too_shallow"] / max(decisions, 1),
        own_wakes=outcome["own_wakes"] / max(decisions, 1),
        decisions=decisions,
        ns_per_decision=outcome["ns_per_decision"],
    )


def follow(trace: Trace, governor: str, machine: Machine, *, price: float = PRICE) -> list[list[int]]:
    """How often each state was chosen at the trace's stays: by the kernel that recorded them, then by a governor.

    The governor is told what the kernel was told, and what came of the kernel's choice.
    """
    stays = [(*stay[:6], stay[6], stay[7]) for stay in trace.stays]
    return _core.idle_follow(machine.table(), stays, governor, price=price)


def choices(
    trace: Trace, governor: str, machine: Machine, *, price: float = PRICE, limit_us: int = LIMIT_US
) -> list[tuple[float, int, int]]:
    """Every stay in an idle state: when its period began, s since the start of the trace; the state; its length, us."""
    outcome = _core.idle_replay(machine.table(), trace.rows, governor, price=price, limit_us=limit_us, stays=True)
    start_us = trace.rows[0][0]
    return [(1e-6 * (trace.rows[period][0] - start_us), state, us) for period, state, us, _ in outcome["stays"]]
