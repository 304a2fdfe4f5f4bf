"""What the validation of models may ask of a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from tests.unit.model.synthetic import TRUTH, published_cells

from bayop.model import published_fit
from bayop.model.cells import Array, Cells
from bayop.model.fits import Parameter
from bayop.model.validate import bootstrap, errors, predictions


class MeanFit:
    """The simplest model there is: every latency is the mean of those that it was fitted to."""

    quantities = ("p99_us",)
    parameter_loads: Sequence[float | None] = (None,)

    def __init__(self, cells: Cells) -> None:
        self._mean = float(cells.latency_us.mean())
        self._error = float(cells.latency_us.std() / np.sqrt(len(cells)))

    def predict(self, cells: Cells) -> Mapping[str, Array]:
        return {"p99_us": np.full(len(cells), self._mean)}

    def parameters(self, load: float | None) -> Sequence[Parameter]:
        assert load is None
        return [Parameter("mean", "us", self._mean, self._error)]


CELLS = published_cells({200e3: TRUTH[200e3]})


def nothing() -> None:
    pass


def test_whatever_keeps_the_contract_can_be_validated() -> None:
    validation = predictions(MeanFit, MeanFit(CELLS), CELLS, on_fit=nothing)
    mean = CELLS.latency_us.mean()
    (error,) = errors(validation, CELLS)
    assert error.fitted == np.mean(np.abs(mean / CELLS.latency_us - 1.0))
    # A fifth of the cells says little about the mean of the others.
    np.testing.assert_allclose(validation.settings_out["p99_us"], mean, rtol=0.2)
    assert len(set(validation.settings_out["p99_us"])) == 5


def test_its_interval_is_about_two_standard_errors_to_each_side() -> None:
    (parameter,) = MeanFit(CELLS).parameters(None)
    interval = bootstrap(MeanFit, CELLS, on_fit=nothing)[None]["mean"]
    assert interval.low < parameter.value < interval.high
    assert 3.2 < (interval.high - interval.low) / parameter.standard_error < 4.6


def test_what_was_measured_is_not_looked_at() -> None:
    """A prediction is of settings and loads; the cells that it is asked for may not have been measured."""
    fit = published_fit.fit(CELLS, published_fit.random_starts(0))
    unknown = np.full(len(CELLS), np.nan)
    blind = Cells(CELLS.slo, CELLS.qps, CELLS.delay_us, CELLS.freq_ghz, unknown, unknown, unknown, unknown)
    for quantity, values in fit.predict(CELLS).items():
        np.testing.assert_array_equal(fit.predict(blind)[quantity], values)
