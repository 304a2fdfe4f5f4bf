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
        setting: What was asked for, by knob id; a knob that was left to the operating system is not in it.
        quantities: What was measured, under the names of `Measurement`.
    """

    os: str
    qps: float
    setting: Mapping[str, float]
    quantities: Mapping[str, float]

    @property
    def is_default(self) -> bool:
        """Whether the operating system was left alone."""
        return not self.setting
