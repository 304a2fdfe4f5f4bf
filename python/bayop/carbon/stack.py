"""What is compared: a machine with an operating system at the highest load that it serves well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

COMPONENTS: Final = ("cpu", "gpu", "dram", "ssd", "hdd", "nic", "mainboard", "power_supply", "chassis", "other")
"""What a server is made of, as models of embodied carbon such as ACT divide it."""


@dataclass(frozen=True, slots=True)
class Stack:
    """A machine under an operating system, serving one application.

    Attributes:
        name: How people tell it from the others.
        app: The application; only stacks of the same application do the same work.
        embodied_kg: Carbon of making each component, kg CO2e, by the names in `COMPONENTS`.
        reused: The machine has served its first life, which its making is charged to: it comes with none.
        power_w: Power while it serves `qps`.
        qps: Requests/s.
        network_bytes_per_s: What it sends and receives, bytes/s.
        network_j_per_byte: Energy of the network for each byte, J.
    """

    name: str
    app: str
    embodied_kg: Mapping[str, float]
    reused: bool
    power_w: float
    qps: float
    network_bytes_per_s: float = 0.0
    network_j_per_byte: float = 0.0

    @property
    def made_kg(self) -> float:
        """Embodied carbon of all components, kg CO2e, whoever it is charged to."""
        return sum(self.embodied_kg.values())

    @property
    def charged_kg(self) -> float:
        """Embodied carbon that this work has to answer for, kg CO2e."""
        return 0.0 if self.reused else self.made_kg

    @property
    def network_w(self) -> float:
        """Power of the network on this work's behalf."""
        return self.network_bytes_per_s * self.network_j_per_byte
