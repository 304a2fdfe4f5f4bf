"""The prior model of BayOp's own search, fitted to a whole study as if it were a model of [D]'s kind.

The equations are those of `bayop.optimize.grey_box.prior`: utilization, latency and power share parameters, queueing
makes the latency explode near saturation, and the load is an input, so that one set of parameters serves every load.
A search never fits them to a sweep (that is the point of it); here it is done to see how far the model itself goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import expit

from bayop.errors import InputError
from bayop.model.cells import Array, Cells
from bayop.model.fits import Parameter
from bayop.model.least_squares import solve
from bayop.optimize.grey_box.inputs import Inputs
from bayop.optimize.grey_box.prior import AnalyticPrior

_ROUNDS: Final = 5
_SETTLED: Final = 0.02
_TYPICAL_DELAY_US: Final = 60.0
_UNITS: Final[Mapping[str, str]] = {"d0": "us", "t": "us", "p0": "W"}


@dataclass(frozen=True, slots=True)
class Reference:
    """What the model's relative inputs are relative to: the highest frequency and load of the study."""

    freq_ghz: float
    qps: float

    @classmethod
    def of(cls, cells: Cells) -> Reference:
        """The reference of a study."""
        return cls(freq_ghz=float(cells.freq_ghz.max()), qps=float(cells.qps.max()))

    def inputs(self, cells: Cells) -> Inputs:
        """The cells as inputs of the prior."""
        nothing, all_queues = np.empty((len(cells), 0)), np.ones(len(cells))
        frequency, log_load = cells.freq_ghz / self.freq_ghz, np.log(cells.qps / self.qps)
        return Inputs(cells.delay_us, frequency, all_queues, log_load, known=nothing, unknown=nothing)


@dataclass(frozen=True, slots=True)
class GreyBoxFit:
    """Fitted parameters of the prior model.

    Attributes:
        quantities: Utilization, the SLO's latency quantile, power; in the order of the prior's outputs.
        theta: Parameters on the prior's scales, shape (p,).
        sd: Their standard errors.
        reference: What frequencies and loads are relative to.
        prior: The equations.
    """

    quantities: tuple[str, str, str]
    theta: Array
    sd: Array
    reference: Reference
    prior: AnalyticPrior

    @property
    def parameter_loads(self) -> tuple[None]:
        """All loads share the parameters."""
        return (None,)

    def predict(self, cells: Cells) -> dict[str, Array]:
        """Utilization, latency and power at the cells' settings and loads."""
        values = np.exp(self.prior.evaluate(self.theta, self.reference.inputs(cells)))
        return dict(zip(self.quantities, values, strict=True))

    def parameters(self, load: float | None) -> list[Parameter]:  # noqa: ARG002 -- the same at every load
        """On the scale of the equations, not of the fit."""
        return [
            _natural(name, float(value), float(sd))
            for name, value, sd in zip(self.prior.names, self.theta, self.sd, strict=True)
        ]


def fit(cells: Cells, *, reference: Reference | None = None, start: Array | None = None) -> GreyBoxFit:
    """Least squares over the logarithms of all three outputs, with the search's own prior as a penalty.

    Each output counts by the inverse of its own residuals' sd, which is found by iterating. What was not measured has
    no residual. The prior keeps parameters in range that the cells say nothing about (the exponent of the load, with
    one load only); where they say something, hundreds of cells outweigh it.

    Args:
        cells: What to fit.
        reference: What to make frequencies and loads relative to, for fits to parts of a study; from the cells.
        start: Where to start, for repeated fits; by default where the prior, anchored at the fastest cell, has its
            mean.

    Raises:
        InputError: there are fewer cells than parameters.
    """
    prior = AnalyticPrior(cells.slo.quantile, _TYPICAL_DELAY_US)
    if len(cells) < len(prior.names):
        raise InputError(
            f"a fit of the grey box must have {len(prior.names)} cells",
            wrong=f"there are {len(cells)} cells",
            value=len(cells),
        )
    reference = reference or Reference.of(cells)
    inputs = reference.inputs(cells)
    log_measured = np.log(np.stack([cells.utilization, cells.latency_us, cells.power_w]))
    there = ~np.isnan(log_measured)
    mean, sd = _anchored(prior, cells, inputs, log_measured)
    weights = np.ones(3)

    def residuals(theta: Array) -> Array:
        errors = (prior.evaluate(theta, inputs) - log_measured) * weights[:, None]
        return np.concatenate([errors[there], (theta - mean) / sd])

    def jacobian(theta: Array) -> Array:
        slopes = prior.jacobian(theta, inputs)[1] * weights[:, None, None]
        return np.concatenate([slopes[there], np.diag(1.0 / sd)])

    theta = mean if start is None else start
    for _ in range(_ROUNDS):
        errors = np.where(there, prior.evaluate(theta, inputs) - log_measured, np.nan)
        before, weights = weights, np.array([_weight(row) for row in errors])
        if np.allclose(weights, before, rtol=_SETTLED):
            break
        theta = solve(residuals, jacobian, [theta])
    slopes = jacobian(theta)
    sd_found = np.sqrt(np.diag(np.linalg.inv(slopes.T @ slopes)))
    return GreyBoxFit(("utilization", cells.slo.quantity, "power_w"), theta, sd_found, reference, prior)


def _anchored(prior: AnalyticPrior, cells: Cells, inputs: Inputs, log_measured: Array) -> tuple[Array, Array]:
    """The prior as a search has it after its first trial: the fastest setting, at the highest load."""
    fastest = int(np.lexsort((cells.delay_us, -cells.freq_ghz, -cells.qps))[0])
    first = [None if np.isnan(value) else float(value) for value in log_measured[:, fastest]]
    return prior.anchored(first[0], first[1], first[2], inputs.rows(np.array([fastest])))


def _weight(errors: Array) -> float:
    """One over the root mean square of the errors that are there."""
    finite = errors[~np.isnan(errors)]
    return 1.0 / max(float(np.sqrt(np.mean(finite**2))), 1e-6) if len(finite) else 1.0


def _natural(name: str, value: float, sd: float) -> Parameter:
    scale, _, symbol = name.rpartition(" ")
    if scale == "log":
        natural = float(np.exp(value))
        return Parameter(symbol, _UNITS.get(symbol, ""), natural, natural * sd)
    if scale == "logit":
        natural = float(expit(value))
        return Parameter(symbol, "", natural, natural * (1.0 - natural) * sd)
    return Parameter(symbol, "", value, sd)
