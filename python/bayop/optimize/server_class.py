"""What servers of one class have in common, as their studies have taught it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Spread(NamedTuple):
    """A parameter over many servers: normal on the scale that its name says."""

    mean: float
    sd: float


@dataclass(frozen=True, slots=True)
class ServerClass:
    """A class of servers.

    Attributes:
        shapes: The parameters of the analytic prior that are no scale of a machine, by name.
        residual: Probability of each multiple of what the analytic prior is believed to be off.
    """

    shapes: Mapping[str, Spread]
    residual: Mapping[float, float]
