"""One server of an unknown physics: what its settings truly show, and which of them is the best."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from bench.judge import TOLERANCE
from bench.unknown.physics import Answer, Array, Physics
from bench.unknown.traits import Traits

from bayop.slo import Slo
from bayop.space import FREQ_MHZ, RX_USECS, Setting, Space, is_default


class Truth(NamedTuple):
    """What a setting shows without noise."""

    power_w: float
    p99_us: float
    utilization: float


@dataclass(frozen=True)
class Server:
    """One server under one load with one SLO.

    Attributes:
        default: Truth of the default policies.
        tick_us: Delays in effect are multiples of this, rounded up; 0 for what was asked.
        tick_mhz: Frequencies in effect are multiples of this, rounded down; 0 likewise.
        power_drift: By which share power grows from window to window.
        latency_sway: How far latency sways around its mean, as a share of it.
        sway_windows: In how many windows once up and down.
    """

    scenario: str
    number: int
    traits: Traits
    physics: Physics
    space: Space
    slo: Slo
    default: Truth
    tick_us: float
    tick_mhz: float
    power_drift: float
    latency_sway: float
    sway_windows: float

    @property
    def qps(self) -> float:
        """Offered load, in requests/s."""
        return 1e6 * self.physics.per_us

    def in_effect(self, setting: Setting) -> Setting:
        """What the driver makes of a setting."""
        delay, frequency = setting[RX_USECS], setting[FREQ_MHZ]
        return {
            RX_USECS: delay if isinstance(delay, str) else float(self._delays(np.array([delay]))[0]),
            FREQ_MHZ: frequency if isinstance(frequency, str) else float(self._clocks(np.array([frequency]))[0]),
        }

    def truth(self, setting: Setting) -> Truth:
        """What a setting shows without noise; a knob on `auto` beside one that is not has its fastest value."""
        if is_default(setting):
            return self.default
        top_mhz = self.space[FREQ_MHZ].numbers()[-1]
        delay, frequency = setting[RX_USECS], setting[FREQ_MHZ]
        delay_us = self.space[RX_USECS].numbers()[0] if isinstance(delay, str) else delay
        mhz = top_mhz if isinstance(frequency, str) else frequency
        answer = self.physics.at(np.array([float(delay_us)]), np.array([mhz / top_mhz]))
        return Truth(float(answer.power_w[0]), float(answer.p99_us[0]), float(answer.utilization[0]))

    @cached_property
    def sweep(self) -> Answer:
        """Truth of every setting of the space, as it is in effect; that of the fastest comes first."""
        delays, clocks = (np.array(self.space[knob].numbers(), dtype=float) for knob in (RX_USECS, FREQ_MHZ))
        delay_us, mhz = np.meshgrid(self._delays(delays), self._clocks(clocks[::-1]))
        return self.physics.at(delay_us.ravel(), mhz.ravel() / clocks[-1])

    @property
    def fastest(self) -> Truth:
        """Truth of the setting from which searches start."""
        return Truth(*(float(shown[0]) for shown in (self.sweep.power_w, self.sweep.p99_us, self.sweep.utilization)))

    @cached_property
    def best_fixed_w(self) -> float:
        """Least true power of any fixed setting that meets the SLO; infinite where none does."""
        return float(np.min(self.sweep.power_w[self.sweep.p99_us < self.slo.limit_us], initial=math.inf))

    @property
    def best_w(self) -> float:
        """Least true power that meets the SLO, the default among the contenders."""
        return min(self.best_fixed_w, self.default.power_w) if self.meets(self.default) else self.best_fixed_w

    @property
    def default_is_best(self) -> bool:
        """Whether the default meets the SLO for less than any fixed setting."""
        return self.slo.met_by({"p99_us": self.default.p99_us}) and self.default.power_w < self.best_fixed_w

    def meets(self, truth: Truth) -> bool:
        """Whether the SLO is met, within what no measurement shows."""
        return truth.p99_us <= TOLERANCE * self.slo.limit_us

    def _delays(self, delays: Array) -> Array:
        return np.ceil(delays / self.tick_us - 1e-9) * self.tick_us if self.tick_us else delays

    def _clocks(self, clocks: Array) -> Array:
        """Below the lowest frequency of the space there is none."""
        if not self.tick_mhz:
            return clocks
        lowest = self.space[FREQ_MHZ].numbers()[0]
        return np.maximum(lowest + np.floor((clocks - lowest) / self.tick_mhz + 1e-9) * self.tick_mhz, lowest)
