from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from matplotlib.axes import Axes
from tests.unit.model.synthetic import TRUTH, published_cells
from tests.unit.report.conftest import points_of

from bayop.model.cells import Array, Cells
from bayop.model.examine import Examination
from bayop.model.published_fit import fit, random_starts
from bayop.model.validate import Predictions
from bayop.report.model import draw_predictions
from bayop.report.style import INK, bayop_style

CELLS = published_cells({200e3: TRUTH[200e3], 400e3: TRUTH[400e3]})


def examination(settings_out: Mapping[str, Array], cells: Cells = CELLS) -> Examination:
    predicted = Predictions(fitted={}, settings_out=settings_out, load_out={})
    return Examination("published", cells, fit(cells, random_starts(0)), predicted, [], {})


def panels_of(settings_out: Mapping[str, Array]) -> tuple[list[Axes], list[str]]:
    with bayop_style():
        figure = draw_predictions(examination(settings_out))
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes)]
    return list(figure.axes), [text.get_text() for legend in legends if legend for text in legend.get_texts()]


def test_points_are_predictions_of_settings_that_were_left_out() -> None:
    out = {"p99_us": 1.1 * CELLS.latency_us, "energy_per_interrupt_j": CELLS.energy_per_interrupt_j}
    (latency, energy), key = panels_of(out)
    for axes, measured, predicted in (
        (latency, CELLS.latency_us, 1.1 * CELLS.latency_us),
        (energy, 1e3 * CELLS.energy_per_interrupt_j, 1e3 * CELLS.energy_per_interrupt_j),
    ):
        for line, load in zip(axes.lines, (200e3, 400e3), strict=False):
            here = CELLS.qps == load
            np.testing.assert_allclose(points_of(line), np.column_stack([measured, predicted])[here])
    assert key == ["200K requests/s", "400K requests/s"]
    assert len({(line.get_color(), line.get_marker()) for line in latency.lines[:2]}) == 2


def test_panels_carry_their_units() -> None:
    axes, _ = panels_of({"p99_us": CELLS.latency_us, "energy_per_interrupt_j": CELLS.energy_per_interrupt_j})
    assert [a.get_title() for a in axes] == ["p99 (us)", "energy per interrupt (mJ)"]
    assert {(a.get_xlabel(), a.get_ylabel()) for a in axes} == {("measured", "predicted")}


def test_an_odd_panel_leaves_room_for_the_key() -> None:
    three = {"p99_us": CELLS.latency_us, "power_w": CELLS.power_w, "utilization": CELLS.utilization}
    axes, key = panels_of(three)
    assert [a.get_title() for a in axes] == ["p99 (us)", "power (W)", "utilization (%)", ""]
    assert not axes[3].axison
    assert len(key) == 2


def test_what_is_right_lies_on_a_line_and_in_a_band_of_ten_percent() -> None:
    (axes, _), _ = panels_of({"p99_us": CELLS.latency_us, "energy_per_interrupt_j": CELLS.energy_per_interrupt_j})
    (truth,) = [line for line in axes.lines if line.get_color() == INK]
    low, high = axes.get_xlim()
    assert points_of(truth) == [(low, low), (high, high)]
    assert (low, high) == axes.get_ylim()
    assert low == pytest.approx(0.95 * CELLS.latency_us.min())
    assert high == pytest.approx(1.05 * CELLS.latency_us.max())
    (band,) = axes.collections
    corners = {(round(x / high, 6), round(y / high, 6)) for x, y in np.asarray(band.get_paths()[0].vertices)}
    assert {(1.0, 0.9), (1.0, 1.1)} <= corners


def test_what_was_not_measured_or_not_predicted_is_no_point() -> None:
    holes = CELLS.latency_us.copy()
    holes[:7] = np.nan
    (axes, power), _ = panels_of({"p99_us": holes, "power_w": np.ones(len(CELLS))})
    assert sum(len(points_of(line)) for line in axes.lines[:2]) == len(CELLS) - 7
    # The cells have no power: neither points nor a line.
    assert [len(points_of(line)) for line in power.lines] == [0, 0]


@pytest.mark.parametrize(("factor", "ends"), [(1e4, "high"), (1e-4, "low")])
def test_nothing_is_drawn_beyond_a_hundred_times_what_was_measured(factor: float, ends: str) -> None:
    wild = CELLS.latency_us.copy()
    wild[0] *= factor
    (axes, _), _ = panels_of({"p99_us": wild, "energy_per_interrupt_j": CELLS.energy_per_interrupt_j})
    low, high = axes.get_xlim()
    if ends == "high":
        assert high == pytest.approx(1.05 * 100 * CELLS.latency_us.max())
    else:
        assert low == pytest.approx(0.95 * CELLS.latency_us.min() / 100)
    assert axes.get_xscale() == axes.get_yscale() == "log"


def test_a_narrow_range_is_linear() -> None:
    same = np.full(len(CELLS), 100.0)
    with bayop_style():
        found = examination({"p99_us": same})
        cells = Cells(
            CELLS.slo, CELLS.qps, CELLS.delay_us, CELLS.freq_ghz, same, CELLS.power_w, CELLS.utilization,
            CELLS.energy_per_interrupt_j,
        )  # fmt: skip
        narrow = Examination("published", cells, found.fit, found.predictions, [], {})
        figure = draw_predictions(narrow)
    assert figure.axes[0].get_xscale() == "linear"
    assert figure.axes[0].get_xlim() == pytest.approx((95.0, 105.0))
