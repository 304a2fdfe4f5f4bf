"""How a controller behaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bayop.control.guard import Guard
from bayop.control.triggers import Trigger
from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.objective import Objective
from bayop.optimize.base import Observation, Problem
from bayop.optimize.server_class import ServerClass
from bayop.slo import Slo
from bayop.space import Space


@dataclass(frozen=True, slots=True)
class Policy:
    """How a controller behaves.

    Attributes:
        space: The settings that its searches choose from.
        slo: The latency objective.
        objective: What is minimised.
        trigger: When to search again; None never searches and leaves the server in its default.
        guard: What to do at once when a held setting misses the SLO; None does nothing.
        trial_s: Length of a trial's window (20 s in [D]).
        watch_s: Length of the windows in which a held setting is watched.
        phase_s: They end so long after the multiples of their length.
        max_trials: Trial budget of one search.
        headroom: How far its searches stay below the SLO's limit, as a share of it.
        small_steps: Whether the first trials go no further in predicted latency than half-way to the limit.
        default_first: Whether each search begins with a window of the default, which what it finds has to improve on.
        server_class: What servers like this one have taught; None for nothing.
        polish: For so many windows after a search, what it found is polished.
        follow: Whether what is held follows the load between two searches, as far as the model is sure.
        steady: How many standard deviations of a window's noise what is held stays below the SLO's limit.
    """

    space: Space
    slo: Slo
    objective: Objective
    trigger: Trigger | None
    guard: Guard | None
    trial_s: float = 20.0
    watch_s: float = 60.0
    phase_s: float = 0.0
    max_trials: int = 15
    headroom: float = 0.0
    small_steps: bool = False
    default_first: bool = False
    server_class: ServerClass | None = None
    polish: int = 0
    follow: bool = False
    steady: float = 0.0

    def __post_init__(self) -> None:
        if not (self.trial_s > 0 and self.watch_s > 0):
            raise InputError("windows must last longer than nothing", value=(self.trial_s, self.watch_s))

    def problem(self, qps: float, history: Sequence[Observation] = (), default: Measurement | None = None) -> Problem:
        """What a search under it looks for.

        Args:
            qps: The load that it is for.
            history: What is known of this load.
            default: What a window of the default has shown; None where none was measured.
        """
        return Problem(
            self.space,
            self.slo,
            self.objective,
            qps,
            history,
            self.headroom,
            small_steps=self.small_steps,
            default=default,
            server_class=self.server_class,
            steady=self.steady,
        )
