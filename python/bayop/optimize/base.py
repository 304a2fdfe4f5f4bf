"""The ask/tell contract of every optimizer.

An optimizer is pure: it is made from a `Problem` and a seed, is asked for a setting, is told what was measured, and
never applies, waits or reads a clock. `bayop.testing.optimizers` has the suite that every implementation passes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol, runtime_checkable

from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.objective import Objective
from bayop.optimize.server_class import ServerClass
from bayop.slo import Slo
from bayop.space import Setting, Space

StopReason = Literal["converged", "infeasible", "exhausted"]

SAME_LOAD: Final = 0.01
"""Loads that differ by no more, as a share, are one load."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One trial as the optimizer sees it.

    A censored measurement is a miss: the setting has at least the latency that it shows, and more than the SLO allows.

    Attributes:
        setting: What was in effect (not what was asked, where a driver rounds).
        measurement: What the window showed.
        qps: Offered load during the window, in requests/s.
        asked: What was asked for; None when it is not known to be another setting.

    Example:
        >>> from bayop import Measurement, Observation, Slo
        >>> window = Measurement({"power_w": 74.2, "p99_us": 480.0})
        >>> trial = Observation({"nic.rx_usecs": 300}, window, qps=600_000)
        >>> trial.meets(Slo.parse("p99<500us"))
        True
    """

    setting: Setting
    measurement: Measurement
    qps: float
    asked: Setting | None = None

    def meets(self, slo: Slo) -> bool:
        """Whether the window met an SLO, as a measurement says it."""
        return self.measurement.meets(slo)


@dataclass(frozen=True, slots=True)
class Problem:
    """What to search for.

    Attributes:
        space: The settings to choose from.
        slo: The latency objective; of several limits each has to be kept.
        objective: What is minimised.
        qps: Offered load, in requests/s.
        history: Observations of the same service at this or other loads, oldest first.
        headroom: How far the latency must stay below the SLO's limit, as a share of it. Settings are chosen and held
            by that; whether a window met the SLO is judged by the SLO.
        small_steps: Whether the first trials go no further in predicted latency than half-way from what was measured
            to the limit.
        default: What a window of the operating system's own policies showed; None when it was not measured.
        server_class: What is known of servers like this one, to be believed as far as what is measured bears it out;
            None when nothing is.
        steady: How many standard deviations of a window's noise the latency must stay below the limit, too, so that
            windows of what is held meet the SLO one by one, and not only in the mean; 5 % of the limit at most.

    Raises:
        InputError: a headroom that is no share below 1.

    Example:
        >>> from bayop import Knob, Objective, Problem, Slo, Space, Steps
        >>> slo = Slo.parse("p99<500us")
        >>> space = Space((Knob("nic.rx_usecs", Steps(2, 400, 2), safest="low"),))
        >>> problem = Problem(space, slo, Objective.parse("power", slo), qps=600_000, headroom=0.1)
        >>> problem.aim.limit_us
        450.0
    """

    space: Space
    slo: Slo
    objective: Objective
    qps: float
    history: Sequence[Observation] = ()
    headroom: float = 0.0
    small_steps: bool = False
    default: Measurement | None = None
    server_class: ServerClass | None = None
    steady: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.headroom < 1.0:
            raise InputError(
                "a headroom must be a share from 0 to less than 1", value=self.headroom, parameter="headroom"
            )

    @property
    def aim(self) -> Slo:
        """What settings are chosen by: the SLO with its headroom."""
        return self.slo.scaled(1.0 - self.headroom)

    def default_objective(self, duration_s: float | None = None) -> float | None:
        """The objective of the default, which settings have to improve on.

        None when the default was not measured whole, or does not stay under what is aimed at: then it is no contender.

        Args:
            duration_s: How long the windows are that it is compared with, since energy grows with time; None for as
                long as its own.
        """
        measured = self.default
        if measured is None or measured.censored:
            return None
        names = self.objective.quantities | (set(self.aim.quantities) if self.objective.constrained else set())
        if any(measured.get(name) is None for name in names):
            return None
        if self.objective.constrained and not self.aim.met_by(measured):
            return None
        own_s = measured.get("duration_s")
        if own_s and duration_s and "energy_j" in measured.quantities:
            energy_j = measured["energy_j"] * duration_s / own_s
            as_long = {**measured.quantities, "energy_j": energy_j, "duration_s": duration_s}
            measured = replace(measured, quantities=as_long)
        value = self.objective.of(measured)
        return value if math.isfinite(value) else None


def last_window(measurements: Sequence[Measurement]) -> Measurement:
    """The last whole one of at least one window, else the last: what the next will be like."""
    whole = [measurement for measurement in measurements if not measurement.censored]
    return (whole or measurements)[-1]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A setting worth a trial.

    Example:
        >>> from bayop import Proposal
        >>> Proposal({"nic.rx_usecs": 300}).setting["nic.rx_usecs"]
        300
    """

    setting: Setting


@dataclass(frozen=True, slots=True)
class Finished:
    """No further trial is worth its cost.

    Attributes:
        reason: `converged` (no safe setting promises an improvement worth a trial), `infeasible` (no setting is
            believed to meet the SLO) or `exhausted` (every setting was tried).

    Example:
        >>> from bayop import Finished
        >>> Finished("converged").reason
        'converged'
    """

    reason: StopReason


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model expects of a setting.

    Attributes:
        quantities: Posterior medians in the unit of each name.
        relative_sd: Their relative standard deviations.
        slo_probability: Probability that the setting meets the SLO.
        objective: Expected objective.
    """

    quantities: Mapping[str, float]
    relative_sd: Mapping[str, float]
    slo_probability: float
    objective: float


class Optimizer(Protocol):
    """Chooses trials. One instance serves one search.

    A class that is made from a problem and a seed, and has these four methods, is one: nothing is inherited.
    `bayop.testing.optimizers` has the suite that every optimizer passes.

    Example:
        >>> from bayop import Finished, Optimizer, Proposal, study_target, tune
        >>> class Slower:  # from the highest frequency down, in steps of 400 MHz, until the SLO is missed
        ...     def __init__(self, problem, *, seed):
        ...         self.slo, self.best, self.next_mhz = problem.slo, None, 2900
        ...     def ask(self, trials_left):
        ...         if self.next_mhz is None:
        ...             return Finished("converged")
        ...         return Proposal({"nic.rx_usecs": 200, "cpu.freq_mhz": self.next_mhz})
        ...     def tell(self, trial):
        ...         if not trial.meets(self.slo) or self.next_mhz < 1700:
        ...             self.next_mhz = None
        ...         else:
        ...             self.best, self.next_mhz = trial.setting, self.next_mhz - 400
        ...     def incumbent(self):
        ...         return self.best
        ...     def predict(self, setting):
        ...         return None
        >>> server = study_target("example:memcached", os="linux", qps=600_000, seed=0)
        >>> slower: type[Optimizer] = Slower
        >>> dict(tune(server, "p99<500us", optimizer=slower).setting)
        {'nic.rx_usecs': 200, 'cpu.freq_mhz': 1700}
    """

    def ask(self, trials_left: int) -> Proposal | Finished:
        """The next setting to try, knowing that `trials_left` trials (at least 1) remain."""
        ...

    def tell(self, observation: Observation) -> None:
        """Takes in one trial, asked for or not."""
        ...

    def incumbent(self) -> Setting | None:
        """The setting to hold if the search stopped now; None while no trial is trusted to meet the SLO."""
        ...

    def predict(self, setting: Setting) -> Prediction | None:
        """What the optimizer's model expects of a setting; None for optimizers without a model."""
        ...


@runtime_checkable
class Polisher(Protocol):
    """An optimizer that goes on improving what it found while that is held."""

    def polish(self, held: Setting | None) -> Setting | None:
        """What to hold in the next window: `held`, or a setting that is almost surely safe and promises to be better.

        Without anything held it is the incumbent or such a setting; None while no trial is trusted to meet the SLO.
        """
        ...


@runtime_checkable
class Follower(Protocol):
    """An optimizer whose model says what to hold at a load that has no trial of its own."""

    def follow(self, held: Setting) -> Setting | None:
        """What to hold at the problem's load instead of `held`, which may be the best.

        None where nothing is almost surely safe.
        """
        ...


def to_hold(optimizer: Optimizer, held: Setting | None) -> Setting | None:
    """What an optimizer would hold in the next window: what it polished, or its incumbent where it does not polish."""
    return optimizer.polish(held) if isinstance(optimizer, Polisher) else optimizer.incumbent()
