"""Fits of the published model: as published, by Adam, and by least squares; one set of parameters for each load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from bayop.errors import InputError
from bayop.model import adam, published
from bayop.model.cells import ENERGY_PER_INTERRUPT, Array, Cells
from bayop.model.fits import Parameter
from bayop.model.least_squares import covariance, solve
from bayop.model.published import UNITS, Parameters

Method: TypeAlias = Literal["adam", "least-squares"]

RESTARTS: Final = 8


@dataclass(frozen=True, slots=True)
class Published:
    """The published model at every load of the cells that it was fitted to.

    Attributes:
        cells: What it was fitted to.
        by_load: Parameters for each load.
        pooled: Parameters fitted to the cells of all loads at once: what the model, which has no load in it, can say
            about a load that it has not seen.
    """

    cells: Cells
    by_load: Mapping[float, Parameters]
    pooled: Parameters

    @property
    def quantities(self) -> tuple[str, str]:
        """The SLO's latency quantile and the energy per interrupt."""
        return (self.cells.slo.quantity, ENERGY_PER_INTERRUPT)

    @property
    def parameter_loads(self) -> list[float | None]:
        """Every load, because each has parameters of its own."""
        return list(self.by_load)

    def predict(self, cells: Cells) -> dict[str, Array]:
        """By the parameters of each cell's load, or the pooled ones at a load that is new."""
        latency, energy = np.empty(len(cells)), np.empty(len(cells))
        for load in cells.loads:
            here = cells.qps == load
            there = self.by_load.get(load, self.pooled)
            latency[here] = there.latency_us(cells.rows(here))
            energy[here] = there.energy_per_interrupt_j(cells.rows(here))
        return dict(zip(self.quantities, (latency, energy), strict=True))

    def parameters(self, load: float | None) -> list[Parameter]:
        """With standard errors; those of gamma and beta are for the phi that was found."""
        cells = self.cells if load is None else self.cells.rows(self.cells.qps == load)
        fit = self.pooled if load is None else self.by_load[load]
        theta = np.array([np.log(fit.zeta), fit.alpha, np.log(fit.phi)])
        latency = covariance(published.latency_residuals(theta, cells), published.latency_jacobian(theta, cells))
        energy = covariance(
            published.energy_residuals(np.array([fit.gamma, fit.beta]), fit.phi, cells),
            published.energy_jacobian(cells),
        )
        sd = np.sqrt(np.concatenate([np.diag(latency), np.diag(energy)])) * [fit.zeta, 1.0, fit.phi, 1.0, 1.0]
        return [
            Parameter(name, unit, getattr(fit, name), float(s))
            for (name, unit), s in zip(UNITS.items(), sd, strict=True)
        ]

    @property
    def minima(self) -> Array:
        """(log zeta, alpha, log phi) of every load: starts for fits to cells much like these, shape (r, 3)."""
        return np.array([[np.log(p.zeta), p.alpha, np.log(p.phi)] for p in self.by_load.values()])


def fit(cells: Cells, starts: Array, *, method: Method = "least-squares") -> Published:
    """Fits Eqs. 1-3 at every load, and once to all loads together.

    Args:
        cells: What to fit.
        starts: Where to start with (log zeta, alpha, log phi), shape (r, 3); `random_starts` are the published ones.
        method: `adam`, as published, or `least-squares`; both minimise the same sums.

    Raises:
        InputError: the cells of a load are too few or lack interrupts/s.
        UnsupportedError: Adam without PyTorch.
    """
    fit_one = partial(_fit_load, method=method, starts=starts)
    by_load = {}
    for load in cells.loads:
        try:
            by_load[load] = fit_one(cells.rows(cells.qps == load))
        except InputError as error:
            raise error.at(f"at {load:g} requests/s") from error
    only = next(iter(by_load.values())) if len(by_load) == 1 else None
    return Published(cells, by_load, only or fit_one(cells))


def random_starts(seed: int, restarts: int = RESTARTS) -> Array:
    """Starts for (log zeta, alpha, log phi), shape (restarts, 3), from the authors' ranges.

    zeta 10-500 us, alpha from -2 to 2, phi about 1: between a third and three.
    """
    low, high = np.array([[np.log(10.0), -2.0, -np.log(3.0)], [np.log(500.0), 2.0, np.log(3.0)]])
    return np.asarray(np.random.default_rng(seed).uniform(low, high, size=(restarts, 3)))


def _fit_load(cells: Cells, *, method: Method, starts: Array) -> Parameters:
    published.check(cells)
    minimise = _by_adam if method == "adam" else _by_least_squares
    latency, energy = minimise(cells, starts)
    log_zeta, alpha, log_phi = latency
    gamma, beta = energy
    return Parameters(float(np.exp(log_zeta)), float(alpha), float(np.exp(log_phi)), float(gamma), float(beta))


def _by_least_squares(cells: Cells, starts: Array) -> tuple[Array, Array]:
    residuals = partial(published.latency_residuals, cells=cells)
    latency = solve(residuals, partial(published.latency_jacobian, cells=cells), starts)
    # Eq. 3 is linear in gamma and beta: one step from anywhere.
    residual = published.energy_residuals(np.zeros(2), float(np.exp(latency[2])), cells)
    energy = np.linalg.lstsq(published.energy_jacobian(cells), -residual, rcond=None)[0]
    return latency, np.asarray(energy)


def _by_adam(cells: Cells, starts: Array) -> tuple[Array, Array]:
    def latency_loss(theta: Any, delay: Any, freq: Any, measured: Any) -> Any:  # noqa: ANN401 -- tensors
        predicted = published.latency_us(theta[0].exp(), theta[1], theta[2].exp(), delay, freq)
        return ((predicted / measured - 1.0) ** 2).mean(dim=1)

    def energy_loss(theta: Any, wait: Any, freq: Any, measured: Any) -> Any:  # noqa: ANN401 -- tensors
        return ((published.log_energy_j(theta[0], theta[1], wait, freq) - measured) ** 2).mean(dim=1)

    latency = adam.minimise(latency_loss, (cells.delay_us, cells.freq_ghz, cells.latency_us), starts)
    wait_us = np.exp(latency[2]) * cells.delay_us
    logs = (np.log(wait_us), np.log(cells.freq_ghz), np.log(cells.energy_per_interrupt_j))
    return latency, adam.minimise(energy_loss, logs, _energy_starts(cells, starts))


def _energy_starts(cells: Cells, starts: Array) -> Array:
    """Starts for (gamma, beta): gamma at the middle of the data, beta from the authors' range, -2 to 2."""
    middle = float(np.mean(np.log(cells.energy_per_interrupt_j / cells.delay_us)))
    return np.column_stack([np.full(len(starts), middle), starts[:, 1]])
