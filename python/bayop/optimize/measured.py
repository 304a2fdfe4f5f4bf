"""What optimizers share that trust measurements as they are, because they have no model of the noise."""

from __future__ import annotations

import math
import statistics
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from itertools import product

from bayop.domains import Value
from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.optimize.base import Finished, Observation, Prediction, Problem, Proposal
from bayop.space import AUTO, Knob, Setting, Space, setting_key


def space_size(space: Space) -> int:
    """How many settings a space has, without listing them."""
    # Values that decide alike whether other knobs matter are counted together; one that does not matter counts once.
    alike = [_alike(space, knob) for knob in space.knobs]
    size = 0
    for point in product(*alike):
        setting = {knob_id: value for knob_id, (value, _) in zip(space.ids, point, strict=True)}
        size += math.prod(
            count if space.matters(knob_id, setting) else int((value, count) == all_[0])
            for knob_id, (value, count), all_ in zip(space.ids, point, alike, strict=True)
        )
    return size


def _alike(space: Space, knob: Knob) -> list[tuple[Value, int]]:
    """A value for each way in which the knob decides whether others matter, and how many values decide so."""
    conditions = [c for other in space.knobs for c in other.only_with if c.knob_id == knob.id]
    values: dict[Hashable, list[Value]] = {}
    for value in knob.values():
        values.setdefault(tuple(value == AUTO or c.met_by(value) for c in conditions), []).append(value)
    return [(group[0], len(group)) for group in values.values()]


def best_measured(observations: Sequence[Observation], problem: Problem) -> Setting | None:
    """The setting with the least measured objective among those that met the SLO, or among all when unconstrained.

    A setting that was measured more than once counts with its mean, so that repeats make it more trustworthy
    instead of giving it more chances to be lucky. A setting that was ever censored, or whose objective is no finite
    number, is never the best.
    """
    repeats: dict[Hashable, list[Observation]] = {}
    for observation in observations:
        repeats.setdefault(setting_key(observation.setting), []).append(observation)
    best: Setting | None = None
    least = math.inf
    for group in repeats.values():
        if any(o.measurement.censored for o in group):
            continue
        mean = _mean([o.measurement for o in group])
        if problem.objective.constrained and not problem.aim.met_by(mean):
            continue
        value = problem.objective.of(mean)
        if value < least:
            best, least = group[0].setting, value
    return best


def _mean(measurements: Sequence[Measurement]) -> Measurement:
    names = set.intersection(*(set(m.quantities) for m in measurements))
    return Measurement({name: statistics.fmean(m[name] for m in measurements) for name in names})


class MeasuredSearch(ABC):
    """An optimizer that tries every setting at most once and holds the best measured one.

    Subclasses say which untried setting comes next. Asking is free of consequences: until a trial is told, asking
    again gives the same answer, so a caller whose trial failed can simply ask again.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._observations: list[Observation] = []
        self._tried: set[Hashable] = set()
        self._pending: Proposal | None = None

    @abstractmethod
    def choose(self, trials_left: int) -> Setting | None:
        """An untried setting, or None when there is none; not called again until the trial is told."""

    def ask(self, trials_left: int) -> Proposal | Finished:
        """The next setting to try; the same one until a trial is told."""
        if self._pending is None:
            setting = None if len(self._tried) >= space_size(self.problem.space) else self.choose(trials_left)
            if setting is None:
                return Finished("exhausted")
            self._pending = Proposal(setting)
        return self._pending

    def tell(self, observation: Observation) -> None:
        """Remembers the trial.

        The setting that was asked for counts as tried even when another one came into effect: a driver that rounds
        it once rounds it again.
        """
        self._observations.append(observation)
        settings = [observation.setting] + ([self._pending.setting] if self._pending is not None else [])
        space = self.problem.space
        self._tried |= {setting_key(space.in_effect(s)) for s in settings if _lies_in(space, s)}
        self._pending = None

    def incumbent(self) -> Setting | None:
        """The best setting measured so far."""
        return best_measured(self._observations, self.problem)

    def predict(self, setting: Setting) -> Prediction | None:  # noqa: ARG002 -- the contract's signature
        """None: there is no model that is worth asking."""
        return None

    def was_tried(self, setting: Setting) -> bool:
        """Whether a trial with this setting was told, or asked for and answered with another one."""
        return setting_key(setting) in self._tried


def _lies_in(space: Space, setting: Setting) -> bool:
    """Whether a setting is one of the space's."""
    try:
        space.check(setting)
    except InputError:
        return False
    return True
