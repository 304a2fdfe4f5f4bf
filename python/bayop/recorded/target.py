"""A study that answers for the machine it was recorded on."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from types import MappingProxyType
from typing import Final

import numpy as np

from bayop.domains import Choices, Steps
from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.recorded.surface import Surface
from bayop.recorded.table import Row
from bayop.space import FREQ_MHZ, RX_USECS, Knob, Safest, Setting, Space
from bayop.target.base import Modelled
from bayop.units import positive

# The lattice of the 82599 (ITR register, 2.048 us ticks) and of P-states (100 MHz). Of another knob no study says what
# lies between the values that were tried.
LATTICE: Final = MappingProxyType({RX_USECS: 2.0, FREQ_MHZ: 100.0})
_SAFEST: Final[Mapping[str, Safest]] = MappingProxyType({RX_USECS: "low", FREQ_MHZ: "high"})

NOISE: Final = MappingProxyType({"power_w": 0.003, "utilization": 0.005, "interrupts_per_s": 0.005, "qps": 0.001})
"""Relative sd of a window, as the repeats of the published study of [D] have it for 20 s."""

LATENCY_NOISE: Final = 0.02
"""The same of a latency quantile."""


class StudyTarget(Modelled):
    """One (os, load) cell of a study: its static trials, interpolated, with seeded measurement noise.

    Its knobs are ITR-delay and frequency, or those that most of these trials set together.

    Args:
        rows: The trials (`bayop.recorded.rows` reads them from a file).
        source: The file that they come from, for messages.
        os: Value of the study's `os` column.
        qps: Offered load; one of the study's.
        seed: Seed of the measurement noise; the same seed gives the same sequence of measurements.

    Raises:
        InputError: the load is no positive number, or the study does not hold this os and load, or no grid of settings.
    """

    name = "study"

    def __init__(self, rows: Sequence[Row], *, source: str, os: str, qps: float, seed: int) -> None:
        qps = positive(qps, "qps", "a load must be a positive number of requests/s")
        selection = _select(rows, source, os, qps)
        try:
            self._knobs, self._surface = _surface(selection)
        except InputError as error:
            raise error.at(f"{source}, {os}, {qps:g} qps") from error
        noise = {n: NOISE.get(n, LATENCY_NOISE if n.endswith("_us") else 0.0) for n in sorted(self._surface.names)}
        self._noise = {name: sd for name, sd in noise.items() if sd > 0.0}
        self._defaults = [r.quantities for r in selection if r.is_default]
        settings = {tuple(r.setting.values()) for r in selection if tuple(r.setting) == self._knobs}
        left_out = len(settings) - math.prod(len(axis) for axis in self._surface.axes)
        if left_out:
            text = "settings of the study are left out: they make no whole grid with the others"
            self.doubts = (f"{left_out} {text}",)
        self._rng = np.random.default_rng(seed)
        self._setting: Setting | None = None
        self._qps = qps
        self.description = f"{os}, {qps:g} qps of {PurePath(source).name}"
        self._space = Space(tuple(_knob(k, axis) for k, axis in zip(self._knobs, self._surface.axes, strict=True)))

    @property
    def space(self) -> Space:
        """The hull of the measured grid in hardware steps, or the measured values where no steps are known."""
        return self._space

    @property
    def quantities(self) -> frozenset[str]:
        """What every trial of the study measured, and the energy of its windows where their length is known."""
        return frozenset(_with_energy(dict.fromkeys(self._surface.names, 1.0)))

    @property
    def qps(self) -> float:
        """Offered load, in requests/s."""
        return self._qps

    def apply(self, setting: Setting) -> Setting:
        """Selects the setting that the next measurement answers for."""
        self._setting = self._space.check(setting)
        return self._setting

    def measure(self) -> Measurement:
        """The interpolated means at the applied setting, times log-normal noise."""
        if self._setting is None:
            baseline = self.baseline()
            if baseline is None:
                raise InputError(wrong="the study has no default rows", hint="apply a setting first")
            return baseline
        return self._noisy(self.truth(self._setting))

    def truth(self, setting: Setting) -> dict[str, float]:
        """The interpolated means at a setting, without noise: what a search is judged by and never sees.

        Raises:
            InputError: the setting lies outside the study's grid.
        """
        return self._surface.at(tuple(float(setting[knob]) for knob in self._knobs))

    def baseline(self) -> Measurement | None:
        """The mean of the study's default rows at this load, or None when it has none (EbbRT)."""
        if not self._defaults:
            return None
        names = set.intersection(*(set(q) for q in self._defaults))
        means = {name: statistics.fmean(q[name] for q in self._defaults) for name in names}
        return Measurement(_with_energy(means))

    def restore(self) -> None:
        """Back to the default policy."""
        self._setting = None

    def _noisy(self, means: dict[str, float]) -> Measurement:
        factors = np.exp(self._rng.standard_normal(len(self._noise)) * np.array(list(self._noise.values())))
        noisy = means | {name: means[name] * float(f) for name, f in zip(self._noise, factors, strict=True)}
        if "utilization" in noisy:
            noisy["utilization"] = min(noisy["utilization"], 1.0)
        quantities = _with_energy(noisy)
        energy = {"energy_j": NOISE["power_w"]} if "energy_j" in quantities else {}
        return Measurement(quantities, relative_sd=self._noise | energy)


def _with_energy(quantities: dict[str, float]) -> dict[str, float]:
    """With the energy of the window, where its length is known."""
    if "duration_s" not in quantities:
        return quantities
    return quantities | {"energy_j": quantities["power_w"] * quantities["duration_s"]}


def _surface(rows: Sequence[Row]) -> tuple[tuple[str, ...], Surface]:
    """The knobs of the trials that answer, and what they measured.

    ITR-delay and frequency alone, where trials make a grid of these; else what most trials set together in a grid.

    Raises:
        InputError: there is no grid.
    """
    settings = Counter(tuple(row.setting) for row in rows if not row.is_default)
    refusal = InputError(wrong="every trial left all knobs to the operating system")
    for knobs in sorted(settings, key=lambda knobs: (knobs != (RX_USECS, FREQ_MHZ), -settings[knobs])):
        try:
            return knobs, Surface((tuple(r.setting.values()), r.quantities) for r in rows if tuple(r.setting) == knobs)
        except InputError as error:
            refusal = error
    raise refusal


def _knob(knob_id: str, axis: tuple[float, ...]) -> Knob:
    step = LATTICE.get(knob_id)
    domain = Choices(axis) if step is None else Steps(math.ceil(axis[0] / step) * step, axis[-1], step)
    return Knob(knob_id, domain, auto=False, safest=_SAFEST.get(knob_id))


def _select(rows: Sequence[Row], source: str, os: str, qps: float) -> list[Row]:
    systems = sorted({r.os for r in rows})
    if os not in systems:
        raise InputError(
            wrong=f"the study has no trials of {os}", value=os, place=source, hint=f"it has {', '.join(systems)}"
        )
    loads = sorted({r.qps for r in rows if r.os == os})
    selection = [r for r in rows if r.os == os and r.qps == qps]
    if not selection:
        listing = ", ".join(f"{q:g}" for q in loads)
        raise InputError(
            wrong=f"the study has no trials at {qps:g} qps",
            value=f"{qps:g} qps",
            place=source,
            hint=f"its loads are {listing} qps",
        )
    return selection
