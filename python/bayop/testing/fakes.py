"""A server in a few formulas, for tests that need an answer at once and the truth beside it.

It has the shape of the real thing ([D] section 3) and none of its detail: a longer interrupt delay batches work and so
saves cycles and adds latency; a lower frequency saves power and makes the queue longer, until it saturates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

import numpy as np

from bayop.domains import Choices, Condition, Steps
from bayop.measurement import Measurement
from bayop.objective import Objective
from bayop.optimize.base import Observation, Problem
from bayop.slo import Slo
from bayop.space import AUTO, CAP_W, FREQ_MHZ, IDLE_GOVERNOR, RX_USECS, Knob, Setting, Space
from bayop.target.base import Modelled

QUANTITIES: Final = frozenset({"power_w", "energy_j", "duration_s", "p50_us", "p90_us", "p99_us", "qps", "utilization"})
_NOISE: Final = MappingProxyType(
    {"power_w": 0.003, "utilization": 0.005, "p50_us": 0.01, "p90_us": 0.015, "p99_us": 0.02}
)


@dataclass(frozen=True, slots=True)
class Shape:
    """What the formulas depend on, beside the load and the setting.

    Attributes:
        cycles: Cycles that a request costs when every packet has its own interrupt.
        batched: Share of these cycles that an endless interrupt delay would save.
        cores: Cores that share the load.
        wire_us: Latency that no knob changes.
        static_w: Power of an idle server.
        core_w: Power of one busy core at 1 GHz; it grows with the cube of the frequency.
        auto_rx_usecs: The delay that the operating system chooses on `auto`.
        auto_freq_mhz: The frequency that it chooses.
    """

    cycles: float = 40_000.0
    batched: float = 0.3
    cores: int = 16
    wire_us: float = 20.0
    static_w: float = 40.0
    core_w: float = 0.35
    auto_rx_usecs: float = 20.0
    auto_freq_mhz: float = 2900.0

    def at(self, setting: Setting, qps: float) -> dict[str, float]:
        """The true quantities of a setting.

        Knobs beside the interrupt delay and the frequency trade a little latency for power, by the place of their
        value in the domain's order (numbers count by their size).
        """
        delay_us = self._number(setting.get(RX_USECS, AUTO), self.auto_rx_usecs)
        freq_ghz = self._number(setting.get(FREQ_MHZ, AUTO), self.auto_freq_mhz) / 1000.0
        demand = self.cycles * (1.0 - self.batched * delay_us / (delay_us + 50.0))
        utilization = min(qps * demand / (self.cores * freq_ghz * 1e9), 0.999)
        service_us = demand / (freq_ghz * 1e3)
        tail_us = self.wire_us + delay_us + service_us * (1.0 + 3.0 * utilization / (1.0 - utilization))
        power_w = self.static_w + self.cores * self.core_w * freq_ghz**3 * utilization
        for knob_id, value in setting.items():
            if knob_id not in {RX_USECS, FREQ_MHZ}:
                effort = _effort(value)
                tail_us *= 1.1 - 0.1 * effort
                power_w *= 0.95 + 0.05 * effort
        return {
            "power_w": power_w,
            "energy_j": power_w * 20.0,
            "duration_s": 20.0,
            "p50_us": 0.4 * tail_us,
            "p90_us": 0.7 * tail_us,
            "p99_us": tail_us,
            "qps": min(qps, self.cores * freq_ghz * 1e9 / demand),
            "utilization": utilization,
        }

    @staticmethod
    def _number(value: float | str, auto: float) -> float:
        return auto if isinstance(value, str) else float(value)


class FakeServer(Modelled):
    """A target that answers from `Shape`, with seeded log-normal noise.

    Args:
        space: The knobs; by default those of [D] with `auto`.
        qps: Offered load.
        shape: The server.
        noise: Scales the noise of every quantity; 0 for the exact formulas.
        seed: The same seed gives the same measurements.
        without: Quantities that this server can't measure.
    """

    name = "fake"
    description = "a server in a few formulas"

    def __init__(
        self,
        space: Space | None = None,
        *,
        qps: float = 400_000.0,
        shape: Shape | None = None,
        noise: float = 1.0,
        seed: int = 0,
        without: frozenset[str] = frozenset(),
    ) -> None:
        self.shape = shape or Shape()
        self.applied: list[Setting] = []
        self._space = space or papers_space(auto=True)
        self._qps = qps
        self._noise = noise
        self._quantities = QUANTITIES - without
        self._rng = np.random.default_rng(seed)
        self._setting: Setting | None = None

    @property
    def space(self) -> Space:
        """The knobs."""
        return self._space

    @property
    def quantities(self) -> frozenset[str]:
        """Everything but what it was told to leave out."""
        return self._quantities

    @property
    def qps(self) -> float:
        """Offered load, in requests/s."""
        return self._qps

    @property
    def setting(self) -> Setting | None:
        """What is applied; None for the default. Tests look here for what a search left behind."""
        return self._setting

    def apply(self, setting: Setting) -> Setting:
        """Applies a setting and notes it in `applied`."""
        self._setting = self._space.check(setting)
        self.applied.append(self._setting)
        return self._setting

    def measure(self) -> Measurement:
        """The formulas times the noise."""
        truth = self.truth(self._setting or {})
        noise = {k: sd * self._noise for k, sd in _NOISE.items() if k in truth and self._noise > 0}
        factors = np.exp(self._rng.standard_normal(len(noise)) * np.array(list(noise.values())))
        noisy = truth | {k: truth[k] * float(f) for k, f in zip(noise, factors, strict=True)}
        if "utilization" in noisy:
            noisy["utilization"] = min(noisy["utilization"], 1.0)
        if "energy_j" in noisy and "power_w" in noisy:
            noisy["energy_j"] = noisy["power_w"] * 20.0
        return Measurement(noisy, relative_sd=noise)

    def baseline(self) -> Measurement:
        """The exact formulas with every knob on `auto`."""
        return Measurement(self.truth({}))

    def restore(self) -> None:
        """Back to the default."""
        self._setting = None

    def truth(self, setting: Setting) -> dict[str, float]:
        """The quantities of a setting without noise."""
        return {k: v for k, v in self.shape.at(setting, self._qps).items() if k in self._quantities}

    def observe(self, setting: Setting) -> Observation:
        """Applies, measures, and packs the trial for an optimizer."""
        effective = self.apply(setting)
        return Observation(effective, self.measure(), self._qps)


def nic_and_cpu_space(rx_usecs: Steps | Choices, freq_mhz: Steps | Choices, *, auto: bool) -> Space:
    """The space of the papers: ITR-delay x DVFS. A short delay and a high frequency make the service fastest."""
    return Space((Knob(RX_USECS, rx_usecs, auto, safest="low"), Knob(FREQ_MHZ, freq_mhz, auto, safest="high")))


def papers_space(*, auto: bool = False) -> Space:
    """The space of [D]'s machine: 2-400 us of ITR-delay, 1.3-2.9 GHz."""
    return nic_and_cpu_space(Steps(2, 400, 2), Steps(1300, 2900, 100), auto=auto)


def make_problem(space: Space, *, slo: str = "p99<200us", objective: str = "power", qps: float = 400_000.0) -> Problem:
    """A problem from the texts that people type.

    Raises:
        InputError: the SLO or the objective can't be read.
    """
    limit = Slo.parse(slo)
    return Problem(space, limit, Objective.parse(objective, limit), qps)


def awkward_spaces() -> Mapping[str, Space]:
    """Spaces that have broken optimizers, by what is awkward about them."""
    delay = Knob(RX_USECS, Steps(2, 400, 2), safest="low")
    three = Knob(FREQ_MHZ, Choices((1300, 2100, 2900)), safest="high")
    governor = Knob(IDLE_GOVERNOR, Choices(("menu", "teo", "haltpoll")))
    adaptive, off = Knob("nic.adaptive_rx", Choices(("off", "on"))), (Condition("nic.adaptive_rx", ("off",)),)
    return MappingProxyType(
        {
            "papers": papers_space(),
            "one point": Space((Knob(RX_USECS, Choices((50,))), Knob(FREQ_MHZ, Choices((2900,))))),
            "one knob": Space((delay,)),
            "one knob, the other on auto": papers_space(auto=True).only([FREQ_MHZ]),
            "categorical": Space((delay, three, governor)),
            "only categorical": Space((governor,)),
            "auto": papers_space(auto=True),
            "three frequencies": Space((delay, three)),
            "conditional": Space(
                (replace(delay, only_with=off, otherwise=AUTO), replace(three, only_with=off), adaptive)
            ),
            "unknown number": Space((delay, three, Knob(CAP_W, Steps(60, 120, 5)))),
        }
    )


def _effort(value: float | str) -> float:
    """How much a value of an unknown knob favours speed, 0 to 1."""
    if isinstance(value, str):
        return {"menu": 0.3, "teo": 0.6, "haltpoll": 1.0}.get(value, 0.5)
    return value / (value + 100.0)
