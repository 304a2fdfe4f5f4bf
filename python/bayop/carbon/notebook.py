"""The same quantity as the authors of [C] compute it, to the digit, and where that departs from its units.

Their notebooks (systor_mcd.ipynb and systor_silo.ipynb in handong32/cloudlab) work on bare numbers: (CM + CC + CN) /
requests per second, with

    CI   277300 / 998280000     "mg CO2/J": the grid's mg/kWh over the joules of as many kWh as it has g/kWh
    CM   the embodied carbon in *grams*, called mg; in the plots it shrinks by a fifth every month, before the first
    CC   CI x power
    CN   CI x NIC line rate x 2.7 "J/byte"; the paper prints 2.7 uJ/byte

With units none of this adds up: CM is a mass, and CC and CN are rates.
"""

from __future__ import annotations

from typing import Final

from bayop.carbon.stack import Stack

GRID_MG_PER_J: Final = 277300 / 998280000
"""As coded: 998280000 J are 277.3 kWh, so that the grid cancels."""
_DECAY_PER_MONTH: Final = 0.8
NETWORK_J_PER_BYTE: Final = 2.7

DEPARTURES: Final = (
    "grid: divided once too often by its own g/kWh: 0.000278 mg/J whatever the grid; 277.3 g/kWh are 0.0770 mg/J",
    "network: 2.7 J/byte, where the paper prints 2.7 uJ/byte: a million times too much, and so nearly the whole sum",
    "embodied: the whole mass, in g but called mg, added to what one second emits; not spread over a lifetime",
)
"""Where the notebooks depart from the units, for people."""


def notebook_intensity(stack: Stack, *, power_w: float | None = None, month: int | None = None) -> float:
    """The "mg CO2/request" that the notebooks print, or that they plot for a month.

    Args:
        stack: What is computed.
        power_w: The power that the notebook has, where that is another.
        month: A month of the plots, from 0; None for what is printed.
    """
    embodied = stack.charged_kg * 1e3
    if month is not None:
        embodied *= _DECAY_PER_MONTH ** (month + 1)
    compute = GRID_MG_PER_J * (stack.power_w if power_w is None else power_w)
    network = GRID_MG_PER_J * stack.network_bytes_per_s * NETWORK_J_PER_BYTE
    return (embodied + compute + network) / stack.qps
