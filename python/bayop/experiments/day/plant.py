"""A modelled server under a load curve, as what a controller steers."""

from __future__ import annotations

from collections.abc import Callable

from bayop.load.curve import LoadCurve
from bayop.measurement import Measurement
from bayop.space import Setting
from bayop.target.oracle import Oracle, Question


class CurvePlant:
    """An oracle under a load curve, as a plant for the controller.

    A modelled window stands for all the time between two changes (of the setting or of the load): it is modelled once,
    and the windows of that time share it.

    Args:
        oracle: What answers.
        curve: Offered load.
        seed: Seed of the first window; every new window takes the next.
        requests: Length of a modelled window.
        check: Called before each window; it may raise KeyboardInterrupt to end the day.
    """

    def __init__(
        self,
        oracle: Oracle,
        curve: LoadCurve,
        *,
        seed: int,
        requests: int,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self.description = oracle.description
        self.space = oracle.space
        self.quantities = oracle.quantities
        self._oracle = oracle
        self._curve = curve
        self._seed = seed
        self._requests = requests
        self._check = check
        self._setting: Setting | None = None
        self._window: tuple[float, Measurement] | None = None

    def load_at(self, time_s: float) -> float:
        """The curve's load."""
        return self._curve.at(time_s)

    def apply(self, setting: Setting) -> Setting:
        """Selects the setting; the next window is a new one."""
        self._setting = self.space.check(setting)
        self._window = None
        return self._setting

    def measure(self, start_s: float, duration_s: float) -> Measurement:
        """The window since the last change, with the energy of `duration_s`."""
        self._check()
        qps = self._curve.at(start_s)
        if self._window is None or self._window[0] != qps:
            question = Question(qps, self._setting, self._seed)
            self._seed += 1
            self._window = (qps, self._oracle.answer([question], requests=self._requests, threads=1)[0])
        window = self._window[1]
        totals = {"duration_s": duration_s, "energy_j": window["power_w"] * duration_s}
        return Measurement({**window.quantities, **totals}, window.relative_sd)

    def restore(self) -> None:
        """Back to the default."""
        self._setting = None
        self._window = None
