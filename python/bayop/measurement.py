"""What one window of time showed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from bayop.errors import InputError
from bayop.slo import Slo


@dataclass(frozen=True, slots=True)
class Measurement:
    """Named quantities of one window, each in the unit that its name carries.

    Attributes:
        quantities: `power_w`, `energy_j`, `p50_us` ... `p99_us`, `qps`, `utilization` (0-1), `interrupts_per_s`,
            `duration_s`, C-state residencies and whatever else the target senses. A quantity that was not
            measured is absent; there are no zeros or NaNs in its place.
        relative_sd: For some quantities, the relative standard deviation of this very number (from repeats or
            window statistics). The search weighs observations by it.
        cut_short: Why the window ended early, for people; None when it did not.

    Raises:
        InputError: a quantity is not finite.

    Example:
        >>> from bayop import Measurement
        >>> window = Measurement({"power_w": 74.2, "p99_us": 480.0}, relative_sd={"p99_us": 0.02})
        >>> window["p99_us"]
        480.0
        >>> window.get("utilization") is None
        True
    """

    quantities: Mapping[str, float]
    relative_sd: Mapping[str, float] = field(default_factory=dict)
    cut_short: str | None = None

    def __post_init__(self) -> None:
        for name, value in self.quantities.items():
            if not math.isfinite(value):
                raise InputError("a measured quantity must be a finite number or absent", value=value, place=name)

    @property
    def censored(self) -> bool:
        """Whether the window was cut short, because its setting did harm or the load was another.

        Its latencies are then lower bounds of the setting's, and its other quantities say nothing.
        """
        return self.cut_short is not None

    def meets(self, slo: Slo) -> bool:
        """Whether the window met an SLO; a censored one did not, whatever its short life has shown."""
        return not self.censored and slo.met_by(self)

    def get(self, name: str) -> float | None:
        """The quantity, or None when the window did not show it."""
        return self.quantities.get(name)

    def __getitem__(self, name: str) -> float:
        """The quantity `name`.

        Raises:
            InputError: the window did not show it.
        """
        value = self.quantities.get(name)
        if value is None:
            measured = ", ".join(sorted(self.quantities))
            raise InputError(wrong=f"the target does not measure {name}", hint=f"it measures {measured}")
        return value
