from __future__ import annotations

from functools import partial

import numpy as np
from tests.unit.model.synthetic import TRUTH, published_cells

from bayop.model import published_fit
from bayop.model.validate import bootstrap, errors, load_folds, predictions, setting_folds

STARTS = published_fit.random_starts(0)
FITTER = partial(published_fit.fit, starts=STARTS)


def nothing() -> None:
    pass


def test_every_setting_is_left_out_once_with_all_its_loads() -> None:
    cells = published_cells()
    folds = setting_folds(cells, 5, seed=3)
    assert (np.sum(folds, axis=0) == 1).all()
    for setting in range(int(cells.settings.max()) + 1):
        assert sum(fold[cells.settings == setting].any() for fold in folds) == 1
    assert [fold.tolist() for fold in folds] == [fold.tolist() for fold in setting_folds(cells, 5, seed=3)]
    assert [fold.tolist() for fold in folds] != [fold.tolist() for fold in setting_folds(cells, 5, seed=4)]


def test_one_load_can_not_be_left_out() -> None:
    cells = published_cells({200e3: TRUTH[200e3]})
    assert load_folds(cells) == []
    rows = errors(predictions(FITTER, FITTER(cells), cells, on_fit=nothing), cells)
    assert {e.load_out for e in rows} == {None}


def test_a_model_that_is_true_predicts_new_settings_and_knows_no_new_load() -> None:
    cells = published_cells()
    rows = errors(predictions(FITTER, FITTER(cells), cells, on_fit=nothing), cells)
    assert len(rows) == 6
    for error in rows:
        assert error.cells == 30
        assert error.fitted is not None
        assert error.fitted < 1e-6
        assert error.settings_out is not None
        assert error.settings_out < 1e-6
        assert error.load_out is not None
        assert error.load_out > 0.02


def test_noise_makes_new_settings_no_easier_than_old_ones() -> None:
    cells = published_cells(noise=0.05)
    rows = errors(predictions(FITTER, FITTER(cells), cells, on_fit=nothing), cells)
    assert np.mean([e.settings_out or 0.0 for e in rows]) > np.mean([e.fitted or 0.0 for e in rows])


def test_the_bootstrap_is_as_wide_as_the_noise() -> None:
    cells = published_cells(noise=0.02)
    whole = FITTER(cells)
    intervals = bootstrap(partial(published_fit.fit, starts=whole.minima), cells, times=60, on_fit=nothing)
    for load in TRUTH:
        for parameter in whole.parameters(load):
            interval = intervals[load][parameter.name]
            assert interval.low < parameter.value < interval.high
            assert 1.5 < (interval.high - interval.low) / parameter.standard_error < 7.0
