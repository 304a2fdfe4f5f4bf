"""What a server has that a search may stumble over, and the scenarios that are made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

import numpy as np
from bench.unknown.physics import log_uniform

POPULATION: Final = "population"
"""The scenario whose servers draw their traits, too."""

Reported = Literal["as it is", "a fifth", "not"]
Default = Literal["worse", "better", "late"]


@dataclass(frozen=True, slots=True)
class Traits:
    """What distinguishes a scenario's servers.

    Attributes:
        smooth: Whether nothing but what a search expects is in the physics: one power law of frequency, no polls, no
            steps, a queue per core.
        one_queue: Whether all cores of a smooth server serve one queue, so that it is stable until nearly all are busy.
        field: The greatest smooth deviation of the latency, as a share; a third of it for power and utilization.
        ripple: Whether power has several minima.
        bump: Whether latency rises around one frequency.
        plateau: Whether delays beyond some change nothing, because the NIC has found as many packets as it waits for.
        cliff: Whether latency explodes somewhere without a sign in utilization.
        island: Whether the fastest setting misses the SLO, which few others meet.
        latency_noise: Relative sd of a window's latency; a fifth of it for power, a tenth for utilization.
        reported: How much of its noise a window tells.
        heavy: Whether noise has the tails of Student's t with three degrees of freedom.
        wild: The share of windows whose latency is five times too high or too low.
        rounding: Whether a driver rounds what it is asked for.
        drift: Whether power and latency change with time.
        default: The default draws more than the best setting, or 20 % less, or 20 % less and misses the SLO.
    """

    smooth: bool = True
    one_queue: bool = False
    field: float = 0.0
    ripple: bool = False
    bump: bool = False
    plateau: bool = False
    cliff: bool = False
    island: bool = False
    latency_noise: float = 0.02
    reported: Reported = "as it is"
    heavy: bool = False
    wild: float = 0.0
    rounding: bool = False
    drift: bool = False
    default: Default = "worse"


SCENARIOS: Final[Mapping[str, Traits]] = MappingProxyType(
    {
        "as the prior expects": Traits(),
        "one queue for all cores": Traits(one_queue=True),
        "residual 40 %": Traits(field=0.4),
        "several minima": Traits(ripple=True),
        "p99 not monotone in frequency": Traits(bump=True),
        "cliff without warning": Traits(cliff=True),
        "SLO met on an island only": Traits(island=True),
        "noise 10 %, reported": Traits(latency_noise=0.1),
        "noise 10 %, reported as 2 %": Traits(latency_noise=0.1, reported="a fifth"),
        "one window in 20 five times off": Traits(wild=0.05),
        "rounding driver": Traits(rounding=True),
        "drift": Traits(drift=True),
        "default 20 % better": Traits(default="better"),
    }
)
"""The scenarios with a name; each changes one thing."""


def draw_traits(rng: np.random.Generator) -> Traits:
    """The traits of one server of the population: several at once."""

    def has(share: float) -> bool:
        return bool(rng.random() < share)

    reported: tuple[Reported, ...] = ("as it is", "not", "a fifth")
    default: tuple[Default, ...] = ("worse", "better", "late")
    return Traits(
        smooth=has(0.1),
        field=float(rng.uniform(0.05, 0.3)) if has(0.3) else 0.0,
        ripple=has(0.25),
        bump=has(0.15),
        plateau=has(0.2),
        cliff=has(0.15),
        island=has(0.05),
        latency_noise=log_uniform(rng, 0.01, 0.1),
        reported=reported[rng.choice(3, p=[0.65, 0.25, 0.1])],
        heavy=has(0.2),
        wild=0.05 if has(0.05) else 0.0,
        rounding=has(0.2),
        drift=has(0.15),
        default=default[rng.choice(3, p=[0.82, 0.09, 0.09])],
    )
