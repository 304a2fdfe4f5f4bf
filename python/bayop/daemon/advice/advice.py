"""What a service is advised: the setting that a search would hold, what it would save, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist, fmean, stdev
from typing import Final

from bayop.control.foresight import foresee
from bayop.control.ledger import LedgerWindow
from bayop.daemon.advice.models import Model
from bayop.daemon.file import ServiceFile
from bayop.daemon.policy import policy_of
from bayop.measurement import Measurement
from bayop.saving import Z_95
from bayop.slo import Slo
from bayop.space import Setting, Space, format_setting, plain_setting
from bayop.units import round_significant

_SEED: Final = 0


@dataclass(frozen=True, slots=True)
class Expected:
    """A quantity that is expected.

    Attributes:
        value: Its median, in the unit of its name.
        relative_sd: How unsure that is.
    """

    value: float
    relative_sd: float

    def below(self, limit: float) -> float:
        """Probability of less than a limit."""
        log_far = math.log(limit / self.value)
        return NormalDist().cdf(log_far / self.relative_sd) if self.relative_sd > 0 else float(log_far > 0)

    def __str__(self) -> str:
        return f"{self.value:.4g} (+-{Z_95 * self.relative_sd:.0%})"


@dataclass(frozen=True, slots=True)
class Advice:
    """What a search would do at one load.

    Attributes:
        source: What it is made of, for people.
        qps: The load, in requests/s.
        setting: What would be held; None where the default would stay.
        first: What would be tried first; None where nothing would be.
        trials: How many settings would be tried.
        expected: Power and the SLO's latencies under the setting; of none, where the default would stay.
        slo: The latency objective.
        default_w: Mean power of the default's windows.
        default_sd_w: Standard error of that mean.
    """

    source: str
    qps: float
    setting: Setting | None
    first: Setting | None
    trials: int
    expected: Mapping[str, Expected]
    slo: Slo
    default_w: float
    default_sd_w: float

    @property
    def saving_w(self) -> tuple[float, float, float]:
        """The saved power and the ends of its 95 % interval; nothing is saved where the default would stay."""
        if self.setting is None:
            return 0.0, 0.0, 0.0
        power = self.expected["power_w"]
        saved_w = self.default_w - power.value
        half_w = Z_95 * math.hypot(power.value * power.relative_sd, self.default_sd_w)
        return saved_w, saved_w - half_w, saved_w + half_w

    @property
    def slo_probability(self) -> float | None:
        """Probability that the setting would meet the SLO; None where the default would stay."""
        if self.setting is None:
            return None
        return math.prod(self.expected[limit.quantity].below(limit.limit_us) for limit in self.slo.limits)

    @property
    def is_informed(self) -> bool:
        """Whether anything is known of the saving: less than all that the default draws is in doubt."""
        _, low_w, high_w = self.saving_w
        return high_w - low_w <= self.default_w

    @property
    def line(self) -> str:
        """For people."""
        begin = f"advice at {self.qps:.0f} qps, from {self.source}"
        if self.setting is None or self.slo_probability is None:
            return f"{begin}: the default would stay"
        if not self.is_informed:
            return f"no {begin}: it is too far from this machine, or this load, to advise: {self._expectation}"
        saved_w, low_w, high_w = self.saving_w
        trials = f"{self.trials} trial{'s' * (self.trials != 1)}"
        first = "" if self.first is None else f"would try {format_setting(self.first)} first, and "
        saving = f"saves {saved_w:.1f} W ({low_w:.1f} to {high_w:.1f}) of the default's {self.default_w:.1f} W"
        hold = f"would hold {format_setting(self.setting)} after {trials}"
        return f"{begin}: {first}{hold}: {self._expectation}; {saving}"

    @property
    def _expectation(self) -> str:
        quantities = ", ".join(f"{name} {expected}" for name, expected in self.expected.items())
        return f"{quantities}, meets {self.slo} with {self.slo_probability:.0%}"

    @property
    def fields(self) -> dict[str, object]:
        """For programs."""
        saved_w, low_w, high_w = self.saving_w
        return {
            "source": self.source,
            "qps": round_significant(self.qps),
            "setting": plain_setting(self.setting),
            "first": plain_setting(self.first),
            "trials": self.trials,
            "predicted": {name: round_significant(e.value) for name, e in self.expected.items()},
            "relative_sd": {name: round_significant(e.relative_sd) for name, e in self.expected.items()},
            "slo_probability": None if self.slo_probability is None else round_significant(self.slo_probability),
            "default_w": round_significant(self.default_w),
            "saving": {
                "power_w": round_significant(saved_w),
                "low_w": round_significant(low_w),
                "high_w": round_significant(high_w),
                "share": round_significant(saved_w / self.default_w),
            },
        }


def advise(
    file: ServiceFile,
    space: Space,
    model: Model,
    windows: Sequence[LedgerWindow],
    *,
    listen: Callable[[], None] = lambda: None,
) -> Advice:
    """What a search of a service would find now.

    Args:
        file: What the file says of it.
        space: What would be searched.
        model: What is expected of settings.
        windows: Windows of the default at the present load, at least one, each with its power.
        listen: Called before each look at a setting; what it raises ends it.
    """
    powers_w = [w.power_w for w in windows if w.power_w is not None]
    default_w, qps = fmean(powers_w), fmean(w.qps for w in windows)
    latencies_us = [w.latency_us for w in windows if w.latency_us is not None]
    default = Measurement({"power_w": default_w} | ({file.slo.quantity: fmean(latencies_us)} if latencies_us else {}))
    problem = policy_of(file, space).problem(qps, default=default)
    expectation = model.at(problem, default)

    def expect(setting: Setting) -> Measurement:
        listen()
        return expectation.window(setting)

    found = foresee(replace(problem, history=expectation.history), expect, max_trials=file.max_trials, seed=_SEED)
    expected = {}
    if found.setting is not None:
        window, doubt = expectation.window(found.setting), expectation.doubt(found.setting)
        names = ("power_w", *file.slo.quantities)
        expected = {name: Expected(window[name], doubt.get(name, 0.0)) for name in names}
    sd_w = stdev(powers_w) / math.sqrt(len(powers_w)) if len(powers_w) > 1 else 0.0
    return Advice(model.name, qps, found.setting, found.first, found.trials, expected, file.slo, default_w, sd_w)
