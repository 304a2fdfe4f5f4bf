"""A server of an unknown physics as a target: its truth under noise and drift."""

from __future__ import annotations

import math

import numpy as np
from bench.unknown.servers import Server, Truth

from bayop.measurement import Measurement
from bayop.space import Setting, Space, default_setting
from bayop.target.base import Modelled

_WINDOW_S = 20.0
_POWER_SHARE = 0.2
_UTILIZATION_SHARE = 0.1
_WILD_FACTOR = 5.0


class ServerTarget(Modelled):
    """One server; the same seed gives the same sequence of measurements."""

    name = "unknown"
    quantities = frozenset({"power_w", "energy_j", "p99_us", "utilization", "qps", "duration_s"})

    def __init__(self, server: Server, *, seed: int) -> None:
        self._server = server
        self._seed = seed
        self._windows = 0
        self._setting = default_setting(server.space)
        self._seen: list[Setting] = []
        self.description = f"{server.scenario}, server {server.number}"

    @property
    def space(self) -> Space:
        """Delay and frequency; both can be left to the system."""
        return self._server.space

    @property
    def qps(self) -> float:
        """Offered load, in requests/s."""
        return self._server.qps

    def apply(self, setting: Setting) -> Setting:
        """Selects what the next window shows; the driver may round it."""
        if setting not in self._seen:
            setting = self._server.in_effect(self.space.check(setting))
            self._seen.append(setting)
        self._setting = setting
        return setting

    def restore(self) -> None:
        """Back to the default."""
        self._setting = default_setting(self.space)

    def measure(self) -> Measurement:
        """One window of the setting in effect."""
        self._windows += 1
        return self._window(self._server.truth(self._setting), self._windows)

    def baseline(self) -> Measurement:
        """One window of the default, before all others."""
        return self._window(self._server.default, 0)

    def truth(self, setting: Setting) -> Truth:
        """What a setting shows without noise and drift: what a search is judged by and never sees."""
        return self._server.truth(setting)

    def _window(self, truth: Truth, number: int) -> Measurement:
        """What a window shows: drift has come as far as it does by then, and noise is the window's own."""
        server = self._server
        sway = server.latency_sway * math.sin(2.0 * math.pi * number / server.sway_windows)
        grown = 1.0 + server.power_drift * number
        drifted = truth._replace(power_w=truth.power_w * grown, p99_us=truth.p99_us * (1.0 + sway))
        return self._noisy(drifted, np.random.default_rng([self._seed, server.number, number]))

    def _noisy(self, truth: Truth, rng: np.random.Generator) -> Measurement:
        traits = self._server.traits
        sds = {
            "p99_us": traits.latency_noise,
            "power_w": _POWER_SHARE * traits.latency_noise,
            "utilization": _UTILIZATION_SHARE * traits.latency_noise,
        }
        # Student's t has a variance of 3 with three degrees of freedom.
        draws = rng.standard_t(3, size=3) / math.sqrt(3.0) if traits.heavy else rng.standard_normal(3)
        factors = dict(zip(sds, np.exp(draws * np.array(list(sds.values()))), strict=True))
        if rng.random() < traits.wild:
            factors["p99_us"] *= _WILD_FACTOR ** rng.choice([-1, 1])
        shown = {name: float(value * factors[name]) for name, value in truth._asdict().items()}
        shown["utilization"] = min(shown["utilization"], 1.0)
        told = {"as it is": 1.0, "a fifth": 0.2, "not": 0.0}[traits.reported]
        return Measurement(
            {**shown, "energy_j": shown["power_w"] * _WINDOW_S, "qps": self.qps, "duration_s": _WINDOW_S},
            relative_sd={name: told * sd for name, sd in sds.items()} if told else {},
        )
