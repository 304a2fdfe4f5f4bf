"""What advice is made of: observations of this server, those of a study, or a twin. None of them is asked to apply."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Final, Protocol

import numpy as np

from bayop.control.foresight import expected_by
from bayop.control.history import History
from bayop.daemon.file import ServiceFile
from bayop.domains import Value
from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.optimize import make_optimizer
from bayop.optimize.base import Observation, Problem
from bayop.recorded.table import Row
from bayop.space import Setting, Space, default_setting, setting_key
from bayop.twin.target import TwinTarget

_SEED: Final = 0
_SYSTEMS: Final = ("linux", "unknown")
"""Whose trials of a study count: bayop run steers Linux."""


class Expectation(Protocol):
    """What is expected of settings at one load."""

    @property
    def history(self) -> Sequence[Observation]:
        """What a search would begin with."""
        ...

    def window(self, setting: Setting) -> Measurement:
        """What a window is expected to show."""
        ...

    def doubt(self, setting: Setting) -> Mapping[str, float]:
        """The relative standard deviations of what is expected."""
        ...


class Model(Protocol):
    """Something that expects."""

    @property
    def name(self) -> str:
        """What it is, for people."""
        ...

    def at(self, problem: Problem, default: Measurement) -> Expectation:
        """Its expectation of the server of a problem, whose default has shown `default`."""
        ...


@dataclass(frozen=True, slots=True)
class Learned:
    """The search's own model, told what this server's settings have measured.

    Attributes:
        name: Where the observations come from, for people.
        history: The observations.
    """

    name: str
    history: History

    def at(self, problem: Problem, default: Measurement) -> Expectation:
        """What its model expects at the problem's load, of the observations that are nearest to it."""
        del default
        return _Posterior(problem, self.history.near(problem.qps))


class _Posterior:
    def __init__(self, problem: Problem, history: Sequence[Observation]) -> None:
        self.history = history
        self._optimizer = make_optimizer("grey-box", replace(problem, history=history), seed=_SEED)
        self.window: Callable[[Setting], Measurement] = expected_by(self._optimizer)

    def doubt(self, setting: Setting) -> Mapping[str, float]:
        prediction = self._optimizer.predict(setting)
        return {} if prediction is None else prediction.relative_sd


@dataclass(frozen=True, slots=True)
class Simulated:
    """A twin at the service's load, brought to the level of this server by what both show in their default.

    How far that brings it is how far it is believed to be off.

    Attributes:
        profile: Its profile, as people name it.
        space: What is searched.
    """

    profile: str
    space: Space

    @property
    def name(self) -> str:
        """What it is, for people."""
        return f"the twin {self.profile}"

    def at(self, problem: Problem, default: Measurement) -> Expectation:
        """What it shows at the problem's load."""
        twin = TwinTarget.from_profile(self.profile, qps=problem.qps, seed=_SEED, knobs=self.space.ids)
        shown = twin.baseline()
        levels = {name: seen / shown[name] for name, seen in default.quantities.items() if _is_level(name, shown)}
        return _Levelled(twin, levels)


class _Levelled:
    history: Sequence[Observation] = ()

    def __init__(self, twin: TwinTarget, levels: Mapping[str, float]) -> None:
        self._twin, self._levels = twin, levels
        self._windows: dict[Hashable, Measurement] = {}

    def window(self, setting: Setting) -> Measurement:
        key = setting_key(setting)
        if key not in self._windows:
            self._twin.apply({**default_setting(self._twin.space), **self._nearest(setting)})
            window = self._twin.measure()
            quantities = {name: value * self._levels.get(name, 1.0) for name, value in window.quantities.items()}
            self._windows[key] = Measurement(quantities, window.relative_sd)
        return self._windows[key]

    def doubt(self, setting: Setting) -> Mapping[str, float]:
        noise = self.window(setting).relative_sd
        off = {name: abs(math.log(level)) for name, level in self._levels.items()}
        return {name: math.hypot(noise.get(name, 0.0), off.get(name, 0.0)) for name in {*noise, *off}}

    def _nearest(self, setting: Setting) -> dict[str, Value]:
        """The setting in the twin's own steps, which need not be this machine's."""
        near: dict[str, Value] = {}
        for knob_id, value in setting.items():
            nearest = None if isinstance(value, str) else self._twin.space[knob_id].domain.nearest(value)
            near[knob_id] = value if nearest is None else nearest
        return near


def _is_level(name: str, shown: Measurement) -> bool:
    """Whether a quantity of two servers differs by a factor: power, and latencies."""
    return (name == "power_w" or name.endswith("_us")) and bool(shown.get(name))


def model_of(file: ServiceFile, space: Space, remembered: History) -> Model:
    """What a service's advice is made of.

    Args:
        file: What the file says of it.
        space: What is searched.
        remembered: What the state knows of its settings.

    Raises:
        InputError: there is nothing, or what the file names can't be used.
    """
    if file.twin is not None:
        return _twin_of(file, file.twin, space)
    own = remembered.known
    if file.advise_from is None:
        if not own:
            raise InputError(
                "advice must be made of something that was measured or modelled",
                wrong=f"the state knows nothing of what settings of {file.name} do",
                hint='name a study, advise_from = "study.parquet", or a twin, twin = "linux-memcached"',
            )
        return Learned(f"{_count(own)} of the state", remembered)
    study = _of_study(file, file.advise_from, space)
    more = f", and {len(own)} of the state" if own else ""
    return Learned(f"{_count(study)} of {file.advise_from.name}{more}", History(known=(*study, *own)))


def _count(observations: Sequence[Observation]) -> str:
    return f"{len(observations)} observation{'s' * (len(observations) != 1)}"


def _twin_of(file: ServiceFile, profile: str, space: Space) -> Simulated:
    twin = TwinTarget.from_profile(profile, qps=1.0, seed=_SEED, knobs=space.ids)
    if missing := _missing(file, twin.quantities):
        raise InputError(wrong=f"the twin {profile} does not show {missing[0]}", value=profile)
    return Simulated(profile, space)


def _of_study(file: ServiceFile, path: Path, space: Space) -> list[Observation]:
    from bayop.recorded.rows import read_rows  # polars takes its time to be imported

    rows = [row for row in read_rows(path) if row.os in _SYSTEMS and set(row.setting) == set(space.ids)]
    if not rows:
        raise InputError(
            f"a study for advice must have trials of Linux that set {', '.join(space.ids)}, and no other knob",
            wrong=f"{path} has none",
            value=str(path),
        )
    if missing := _missing(file, set.intersection(*(set(row.quantities) for row in rows))):
        raise InputError(wrong=f"{path} does not have {missing[0]} of every trial", value=str(path))
    return _means(rows)


def _missing(file: ServiceFile, shown: Iterable[str]) -> list[str]:
    needed = {"power_w", *file.slo.quantities, *file.objective.quantities} - {"energy_j", "duration_s"}
    return sorted(needed - set(shown))


def _means(rows: Iterable[Row]) -> list[Observation]:
    """One observation for each setting and load, in an order of which any part is spread over the settings."""
    cells: dict[tuple[float, tuple[tuple[str, float], ...]], list[Mapping[str, float]]] = defaultdict(list)
    for row in rows:
        cells[row.qps, tuple(sorted(row.setting.items()))].append(row.quantities)
    observations = []
    for (qps, setting), repeats in cells.items():
        names = set.intersection(*map(set, repeats))
        means = {name: fmean(quantities[name] for quantities in repeats) for name in sorted(names)}
        observations.append(Observation(dict(setting), Measurement(means), qps))
    return [observations[i] for i in np.random.default_rng(_SEED).permutation(len(observations))]
