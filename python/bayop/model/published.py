"""The model of [D] section 3 as its authors code it: tail latency and energy per interrupt of a batching server.

Notation, for one operating system, application and load (d = ITR-delay in us, f = frequency in GHz):

    t_busy = zeta / f^(1 + alpha)        time to process what an interrupt brings, us     (Eq. 1)
    L      = phi d + t_busy              the latency quantile, us                          (Eq. 2)
    E      = exp(gamma) phi d f^beta     energy per interrupt, J                           (Eq. 3)

zeta, phi > 0. The fit minimises mean((L / L_measured - 1)^2) over zeta, alpha and phi, and then, in the logarithm,
mean((log E - log E_measured)^2) over gamma and beta with phi held. There is no load in it: every load has parameters
of its own. The text of the paper gives the shape; these exact forms, losses and units are those of the authors'
notebooks (analysis/run_mcd*.ipynb in TreeinRandomForest/nic-tuning-experiments, branch dev), whose printed parameters
the tests reproduce. Energy per *interrupt* is what makes Eq. 3 hold: an interrupt comes every d, so its energy grows
with d, while the power of the machine falls.

The functions work on anything with arithmetic, so that PyTorch can differentiate the same text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np

from bayop.errors import InputError
from bayop.model.cells import ENERGY_PER_INTERRUPT, Array, Cells

Numbers = TypeVar("Numbers", Array, Any)

UNITS: Final[Mapping[str, str]] = {"zeta": "us", "alpha": "", "phi": "", "gamma": "log(J/us)", "beta": ""}
"""The parameters in order, with their units (f in GHz)."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of Eqs. 1-3 at one load."""

    zeta: float
    alpha: float
    phi: float
    gamma: float
    beta: float

    def latency_us(self, cells: Cells) -> Array:
        """Eq. 2 at every cell."""
        return np.asarray(latency_us(self.zeta, self.alpha, self.phi, cells.delay_us, cells.freq_ghz))

    def energy_per_interrupt_j(self, cells: Cells) -> Array:
        """Eq. 3 at every cell."""
        logs = np.log(self.phi * cells.delay_us), np.log(cells.freq_ghz)
        return np.asarray(np.exp(log_energy_j(self.gamma, self.beta, *logs)))


def latency_us(zeta: Numbers, alpha: Numbers, phi: Numbers, delay_us: Numbers, freq_ghz: Numbers) -> Numbers:
    """Eqs. 1 and 2."""
    return phi * delay_us + zeta / freq_ghz ** (1.0 + alpha)


def log_energy_j(gamma: Numbers, beta: Numbers, log_wait_us: Numbers, log_freq_ghz: Numbers) -> Numbers:
    """The logarithm of Eq. 3; `log_wait_us` is log(phi d)."""
    return gamma + log_wait_us + beta * log_freq_ghz


def latency_residuals(theta: Array, cells: Cells) -> Array:
    """Relative errors of Eq. 2 at theta = (log zeta, alpha, log phi), shape (n,)."""
    predicted = latency_us(np.exp(theta[0]), theta[1], np.exp(theta[2]), cells.delay_us, cells.freq_ghz)
    return np.asarray(predicted / cells.latency_us - 1.0)


def latency_jacobian(theta: Array, cells: Cells) -> Array:
    """Derivatives of `latency_residuals` in theta, shape (n, 3)."""
    busy = np.exp(theta[0]) / cells.freq_ghz ** (1.0 + theta[1])
    columns = np.column_stack([busy, -busy * np.log(cells.freq_ghz), np.exp(theta[2]) * cells.delay_us])
    return np.asarray(columns / cells.latency_us[:, None])


def energy_residuals(theta: Array, phi: float, cells: Cells) -> Array:
    """Errors of the logarithm of Eq. 3 at theta = (gamma, beta), shape (n,)."""
    logs = np.log(phi * cells.delay_us), np.log(cells.freq_ghz)
    return np.asarray(log_energy_j(theta[0], theta[1], *logs) - np.log(cells.energy_per_interrupt_j))


def energy_jacobian(cells: Cells) -> Array:
    """Derivatives of `energy_residuals` in theta, shape (n, 2); they depend on the settings only."""
    return np.column_stack([np.ones(len(cells)), np.log(cells.freq_ghz)])


def check(cells: Cells) -> None:
    """Refuses cells that the equations can't be fitted to.

    Raises:
        InputError: without interrupts/s there is no energy per interrupt, and with too few frequencies or delays
            a parameter is anything.
    """
    if np.isnan(cells.energy_per_interrupt_j).any():
        rule = f"the published model must have interrupts_per_s, because its energy is {ENERGY_PER_INTERRUPT}"
        raise InputError(rule, wrong="some cells have no interrupts_per_s", hint="the model grey-box does without")
    delays, frequencies = len(np.unique(cells.delay_us)), len(np.unique(cells.freq_ghz))
    if delays < 2 or frequencies < 2 or len(cells) < 5:
        value = f"{len(cells)} cells with {delays} ITR-delays and {frequencies} frequencies"
        raise InputError("a fit must have five settings, among them two ITR-delays and two frequencies", value=value)
