from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.model.synthetic import grey_box_cells, grey_box_theta

from bayop.errors import InputError
from bayop.model import grey_box


def test_recovers_the_parameters_of_exact_data() -> None:
    cells = grey_box_cells()
    fit = grey_box.fit(cells)
    np.testing.assert_allclose(fit.theta, grey_box_theta(), atol=0.02)
    for quantity, values in fit.predict(cells).items():
        np.testing.assert_allclose(values, cells.measured(quantity), rtol=1e-3)


def test_noise_moves_them_by_their_standard_errors() -> None:
    fits = [grey_box.fit(grey_box_cells(noise=0.02, seed=seed)) for seed in range(10)]
    scores = np.array([(fit.theta - grey_box_theta()) / fit.sd for fit in fits])
    # The prior pulls towards its mean, so the scores are a little smaller than standard normal.
    assert 0.5 < float(np.sqrt(np.mean(scores**2))) < 1.4


def test_does_without_utilization() -> None:
    cells = grey_box_cells()
    blind = replace(cells, utilization=np.full(len(cells), np.nan))
    fit = grey_box.fit(blind)
    np.testing.assert_allclose(fit.predict(cells)["power_w"], cells.power_w, rtol=0.01)


def test_a_fit_to_a_part_keeps_the_reference_of_the_whole() -> None:
    cells = grey_box_cells()
    reference = grey_box.Reference.of(cells)
    part = grey_box.fit(cells.rows(cells.qps < 600e3), reference=reference)
    assert part.reference == reference
    np.testing.assert_allclose(part.predict(cells)["power_w"], cells.power_w, rtol=0.05)


def test_prints_parameters_on_the_scale_of_the_equations() -> None:
    parameters = {p.name: p for p in grey_box.fit(grey_box_cells()).parameters(None)}
    theta = dict(zip(("log v0", "e"), grey_box_theta()[:2], strict=True))
    assert parameters["v0"].value == pytest.approx(np.exp(theta["log v0"]), rel=0.02)
    assert parameters["e"].value == pytest.approx(theta["e"], abs=0.02)
    assert 0.0 < parameters["b"].value < 1.0
    assert {parameters[name].unit for name in ("t", "d0")} == {"us"}


def test_needs_as_many_cells_as_parameters() -> None:
    with pytest.raises(InputError, match="there are 10 cells"):
        grey_box.fit(grey_box_cells().rows(np.arange(10)))
