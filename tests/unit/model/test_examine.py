from __future__ import annotations

import numpy as np
import pytest
from tests.unit.model.synthetic import TRUTH, grey_box_cells, published_cells

from bayop.errors import InputError
from bayop.model.examine import examine, fits_needed
from bayop.model.validate import BOOTSTRAPS, FOLDS


@pytest.mark.parametrize("model", ["published", "grey-box"])
def test_an_examination_has_everything_and_takes_the_fits_it_said(model: str) -> None:
    cells = published_cells(noise=0.01) if model == "published" else grey_box_cells(noise=0.01)
    calls: list[int] = []
    examination = examine(cells, model, on_fit=lambda: calls.append(1))  # type: ignore[arg-type]
    assert len(calls) == fits_needed(cells)
    for load in examination.fit.parameter_loads:
        assert set(examination.intervals[load]) == {p.name for p in examination.fit.parameters(load)}
    assert {e.quantity for e in examination.errors} == set(examination.fit.quantities)


def nothing() -> None:
    pass


def test_every_load_is_left_out_once_where_there_are_several() -> None:
    for loads, left_out in ((1, 0), (2, 2), (3, 3)):
        cells = published_cells(dict(list(TRUTH.items())[:loads]))
        assert fits_needed(cells) == FOLDS + BOOTSTRAPS + left_out


def test_the_same_seed_gives_the_same_examination() -> None:
    cells = published_cells({200e3: TRUTH[200e3]}, noise=0.05)
    once, again, other = (examine(cells, "published", seed=seed, on_fit=nothing) for seed in (1, 1, 2))
    assert once.errors == again.errors != other.errors
    assert once.intervals == again.intervals != other.intervals


def test_both_models_are_fitted_to_what_they_are_about() -> None:
    cells = published_cells({200e3: TRUTH[200e3]}, noise=0.01)
    published = examine(cells, "published", on_fit=nothing)
    assert (published.model, published.cells) == ("published", cells)
    zeta = {p.name: p for p in published.fit.parameters(200e3)}["zeta"]
    assert zeta.value == pytest.approx(TRUTH[200e3].zeta, rel=0.1)
    assert published.intervals[200e3]["zeta"].low < TRUTH[200e3].zeta < published.intervals[200e3]["zeta"].high


def test_cells_that_are_too_few_without_a_part_are_refused() -> None:
    cells = grey_box_cells()
    few = cells.rows(np.flatnonzero(cells.qps == 200e3)[:15])
    with pytest.raises(InputError, match="there are 12 cells") as caught:
        examine(few, "grey-box", on_fit=nothing)
    assert caught.value.place == "with a 5th of the settings or a load left out"
