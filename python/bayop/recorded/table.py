"""What a study target needs to know of a trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One trial of a study.

    Attributes:
        os: Operating system of the server.
        qps: Offered load, in requests/s.
        rx_usecs: ITR-delay in us that was asked for, None where it was left to the operating system.
        freq_mhz: Frequency in MHz that was asked for, None where it was left to the operating system.
        quantities: What was measured, under the names of `Measurement`.
    """

    os: str
    qps: float
    rx_usecs: float | None
    freq_mhz: float | None
    quantities: Mapping[str, float]

    @property
    def is_default(self) -> bool:
        """Whether the operating system was left alone."""
        return self.rx_usecs is None and self.freq_mhz is None
