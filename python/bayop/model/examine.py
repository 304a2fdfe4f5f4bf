"""Everything that is said of one model on one operating system's cells: its fit, its errors, its certainty."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

from bayop.errors import InputError
from bayop.model import grey_box, published_fit
from bayop.model.cells import Cells
from bayop.model.fits import Fit, Fitter
from bayop.model.published_fit import Method
from bayop.model.validate import BOOTSTRAPS, FOLDS, Errors, Interval, Predictions, bootstrap, errors, predictions

Model: TypeAlias = Literal["published", "grey-box"]


@dataclass(frozen=True, slots=True)
class Examination:
    """One model on one operating system's cells.

    Attributes:
        model: Which.
        cells: What it was fitted to.
        fit: Its fit to all of them.
        predictions: In sample and out of sample.
        errors: What these come to.
        intervals: 95 % intervals of the parameters, by load (None: all loads share them) and name.
    """

    model: Model
    cells: Cells
    fit: Fit
    predictions: Predictions
    errors: list[Errors]
    intervals: Mapping[float | None, Mapping[str, Interval]]


def fits_needed(cells: Cells) -> int:
    """How many fits an examination takes, for a progress bar."""
    loads = len(cells.loads)
    return FOLDS + BOOTSTRAPS + (loads if loads > 1 else 0)


def examine(
    cells: Cells, model: Model, *, method: Method = "least-squares", seed: int = 0, on_fit: Callable[[], None]
) -> Examination:
    """Fits a model, validates it and bootstraps it.

    Whatever the method, the fits to parts and to draws are by least squares: both methods find the same minimum, and
    Adam takes a hundred times as long.

    Args:
        cells: One operating system's cells.
        model: Which model.
        method: How the published model is fitted to all cells.
        seed: Of the starts, the folds and the bootstrap.
        on_fit: Called after each of `fits_needed` fits.
    """
    fit, fitter, refit = _fits(cells, model, method, seed)
    try:
        predicted = predictions(fitter, fit, cells, seed=seed, on_fit=on_fit)
    except InputError as error:
        raise error.at(f"with a {FOLDS}th of the settings or a load left out") from error
    intervals = bootstrap(refit, cells, seed=seed, on_fit=on_fit)
    return Examination(model, cells, fit, predicted, errors(predicted, cells), intervals)


def _fits(cells: Cells, model: Model, method: Method, seed: int) -> tuple[Fit, Fitter, Fitter]:
    """The fit to all cells, what fits parts of them, and what refits draws that are much like them."""
    if model == "published":
        starts = published_fit.random_starts(seed)
        published = published_fit.fit(cells, starts, method=method)
        return (
            published,
            partial(published_fit.fit, starts=starts),
            partial(published_fit.fit, starts=published.minima),
        )
    grey = grey_box.fit(cells)
    reference = grey.reference
    return (
        grey,
        partial(grey_box.fit, reference=reference),
        partial(grey_box.fit, reference=reference, start=grey.theta),
    )
