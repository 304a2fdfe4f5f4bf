"""How good a model is where it was fitted and where it was not, and how well its parameters are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bayop.errors import InputError
from bayop.model.cells import Array, Cells
from bayop.model.fits import Fit, Fitter

FOLDS: Final = 5
BOOTSTRAPS: Final = 200
_INTERVAL: Final = (0.025, 0.975)


@dataclass(frozen=True, slots=True)
class Predictions:
    """One model's predictions for every cell of a study, by quantity; arrays of shape (n,), NaN where there is none.

    Attributes:
        fitted: By the fit to all cells.
        settings_out: By fits that have not seen the cell's setting, at any load.
        load_out: By fits that have not seen the cell's load; NaN in a study of one load.
    """

    fitted: Mapping[str, Array]
    settings_out: Mapping[str, Array]
    load_out: Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class Errors:
    """Mean absolute relative errors of one quantity at one load; None where there was nothing to compare."""

    quantity: str
    load: float
    cells: int
    fitted: float | None
    settings_out: float | None
    load_out: float | None


def predictions(
    fitter: Fitter, whole: Fit, cells: Cells, *, folds: int = FOLDS, seed: int = 0, on_fit: Callable[[], None]
) -> Predictions:
    """All predictions of a model.

    Args:
        fitter: Fits the model to some of the cells.
        whole: Its fit to all of them.
        cells: The study.
        folds: Parts that the settings are dealt into; each is left out once.
        seed: Of the deal.
        on_fit: Called after every fit, for a progress bar; there are as many as folds and, above one, loads.
    """
    return Predictions(
        fitted=whole.predict(cells),
        settings_out=_held_out(fitter, whole.quantities, cells, setting_folds(cells, folds, seed), on_fit),
        load_out=_held_out(fitter, whole.quantities, cells, load_folds(cells), on_fit),
    )


def setting_folds(cells: Cells, folds: int, seed: int) -> list[NDArray[np.bool_]]:
    """Which cells each fold leaves out: whole settings, at all their loads."""
    settings = cells.settings
    count = int(settings.max()) + 1
    fold_of = np.random.default_rng(seed).permutation(count) % folds
    return [fold_of[settings] == fold for fold in range(min(folds, count))]


def load_folds(cells: Cells) -> list[NDArray[np.bool_]]:
    """Which cells to leave out to leave out each load; nothing where there is only one."""
    loads = cells.loads
    return [cells.qps == load for load in loads] if len(loads) > 1 else []


def errors(predicted: Predictions, cells: Cells) -> list[Errors]:
    """Errors for each quantity and load."""
    return [
        Errors(quantity, load, int(here.sum()), *(
            _relative_error(of[quantity][here], cells.measured(quantity)[here])
            for of in (predicted.fitted, predicted.settings_out, predicted.load_out)
        ))
        for quantity in predicted.fitted
        for load in cells.loads
        for here in [cells.qps == load]
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Interval:
    """Where 95 % of the bootstrap's refits put a parameter."""

    low: float
    high: float


def bootstrap(
    refit: Fitter, cells: Cells, *, times: int = BOOTSTRAPS, seed: int = 0, on_fit: Callable[[], None]
) -> dict[float | None, dict[str, Interval]]:
    """Intervals of the parameters, from refits to settings drawn with replacement; a setting brings all its loads.

    A draw with too few settings at some load determines no parameters and is left out.

    Args:
        refit: Fits the model; a fit that starts at the whole study's is enough.
        cells: The study.
        times: How many draws.
        seed: Of the draws.
        on_fit: Called after every refit.

    Returns:
        By load (None: shared by all loads) and name.
    """
    rng = np.random.default_rng(seed)
    settings = cells.settings
    members = [np.flatnonzero(settings == setting) for setting in range(int(settings.max()) + 1)]
    values: dict[tuple[float | None, str], list[float]] = {}
    for _ in range(times):
        sample = rng.integers(len(members), size=len(members))
        on_fit()
        try:
            fit = refit(cells.rows(np.concatenate([members[i] for i in sample])))
        except InputError:
            continue
        for load in fit.parameter_loads:
            for parameter in fit.parameters(load):
                values.setdefault((load, parameter.name), []).append(parameter.value)
    intervals: dict[float | None, dict[str, Interval]] = {}
    for (load, name), drawn_values in values.items():
        low, high = np.quantile(drawn_values, _INTERVAL)
        intervals.setdefault(load, {})[name] = Interval(float(low), float(high))
    return intervals


def _held_out(
    fitter: Fitter, quantities: Sequence[str], cells: Cells, folds: list[NDArray[np.bool_]], on_fit: Callable[[], None]
) -> dict[str, Array]:
    values = {quantity: np.full(len(cells), np.nan) for quantity in quantities}
    for left_out in folds:
        predicted = fitter(cells.rows(~left_out)).predict(cells.rows(left_out))
        for quantity in quantities:
            values[quantity][left_out] = predicted[quantity]
        on_fit()
    return values


def _relative_error(predicted: Array, measured: Array) -> float | None:
    ratios = np.abs(predicted / measured - 1.0)
    finite = ratios[~np.isnan(ratios)]
    return float(finite.mean()) if len(finite) else None
