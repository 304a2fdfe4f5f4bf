"""The twin under a load of minutes, with the guards that a live machine has."""

from __future__ import annotations

from typing import Final

from bench.days.curves import MinuteCurve

from bayop.live.trial_guard import TrialGuard
from bayop.measurement import Measurement
from bayop.slo import Slo
from bayop.space import Setting
from bayop.target.oracle import Oracle, Question

HARM_S: Final = 2.0
"""How long a setting that does harm stays: a second of latency shows it, and in another it is acted on."""


class GuardedPlant:
    """An oracle under a curve, as a plant for the controller.

    Where clients wait for much too long (three times the limit) a setting's window is cut short, as `bayop run` does it
    on a live machine: nobody waits for its end.

    Args:
        oracle: What answers.
        curve: Offered load.
        slo: What the guards look at.
        seed: Seed of the first window; every new window takes the next.
        requests: Length of a modelled window.
    """

    def __init__(self, oracle: Oracle, curve: MinuteCurve, slo: Slo, *, seed: int, requests: int) -> None:
        self.description = oracle.description
        self.space = oracle.space
        self.quantities = oracle.quantities
        self._oracle, self._curve, self._seed, self._requests = oracle, curve, seed, requests
        self._guard = TrialGuard(slo, load_band=None)
        self._setting: Setting | None = None

    def load_at(self, time_s: float) -> float:
        """The curve's load."""
        return self._curve.at(time_s)

    def apply(self, setting: Setting) -> Setting:
        """Selects the setting."""
        self._setting = self.space.check(setting)
        return self._setting

    def restore(self) -> None:
        """Back to the default."""
        self._setting = None

    def measure(self, start_s: float, duration_s: float) -> Measurement:
        """A window of its own."""
        question = Question(self._curve.at(start_s), self._setting, self._seed)
        self._seed += 1
        seen = self._oracle.answer([question], requests=self._requests, threads=1)[0]
        why = None if self._setting is None else self._guard.objection(seen.quantities, question.qps)
        lasted_s = duration_s if why is None else min(HARM_S, duration_s)
        totals = {"duration_s": lasted_s, "energy_j": seen["power_w"] * lasted_s}
        return Measurement({**seen.quantities, **totals}, seen.relative_sd, cut_short=why)
