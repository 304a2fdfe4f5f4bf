"""A plant at one moment, as the target of one search."""

from __future__ import annotations

from collections.abc import Callable

from bayop.control.ledger import Window
from bayop.measurement import Measurement
from bayop.slo import Slo
from bayop.space import Setting, Space
from bayop.target.plant import Plant


class TimedTarget:
    """Lets a search run on a plant: every measurement is a trial window that takes time and goes into the books.

    Args:
        plant: What is measured.
        slo: The latency objective, for the books.
        start_s: When the search begins.
        trial_s: Length of a trial's window.
        search: The search's number.
        on_window: Receives every trial's window.
    """

    name = "plant"

    def __init__(
        self,
        plant: Plant,
        slo: Slo,
        start_s: float,
        trial_s: float,
        search: int,
        *,
        on_window: Callable[[Window], None],
    ) -> None:
        self.now_s = start_s
        """The time, moved on by each trial."""
        self.qps = plant.load_at(start_s)
        self._plant = plant
        self._slo = slo
        self._trial_s = trial_s
        self._search = search
        self._on_window = on_window
        self._setting: Setting | None = None

    @property
    def description(self) -> str:
        """The plant's."""
        return self._plant.description

    @property
    def space(self) -> Space:
        """The plant's."""
        return self._plant.space

    @property
    def quantities(self) -> frozenset[str]:
        """The plant's."""
        return self._plant.quantities

    def apply(self, setting: Setting) -> Setting:
        """Applies a setting to the plant."""
        self._setting = self._plant.apply(setting)
        return self._setting

    def measure(self) -> Measurement:
        """One trial's window, which takes its time."""
        start_s, qps = self.now_s, self._plant.load_at(self.now_s)
        measurement = self._plant.measure(start_s, self._trial_s)
        self.now_s = start_s + self._trial_s
        self._on_window(
            Window.measured(
                measurement,
                self._slo,
                start_s=start_s,
                duration_s=self._trial_s,
                phase="trial",
                setting=self._setting,
                qps=qps,
                search=self._search,
            )
        )
        return measurement

    def baseline(self) -> Measurement | None:
        """None: showing the default would cost a window that no search asked for."""
        return None

    def restore(self) -> None:
        """Puts the plant's default back."""
        self._plant.restore()
        self._setting = None
