from __future__ import annotations

from collections.abc import Callable

import pytest
from matplotlib.figure import Figure
from tests.unit.report.conftest import marked, points_of, words

from bayop.experiments.day.record import DayRecord
from bayop.report.day import figures as draw
from bayop.report.style import SLO_COLOUR, bayop_style

DRAWN = [draw.draw_load, draw.draw_power, draw.draw_margin, draw.draw_settings, draw.draw_energy]


@pytest.mark.parametrize("function", DRAWN, ids=lambda f: f.__name__)
def test_every_axis_says_its_unit(record: DayRecord, function: Callable[[DayRecord], Figure]) -> None:
    with bayop_style():
        figure = function(record)
    for axes in figure.axes:
        label = axes.get_ylabel() or axes.get_xlabel()
        assert "(" in label, label


def test_lines_are_named_where_they_end(record: DayRecord) -> None:
    with bayop_style():
        shown = words(draw.draw_power(record))
    assert {"Linux default", "ITR-delay only", "Frequency only", "BayOp on Linux", "BayOp on EbbRT"} <= shown


def test_margins_have_a_panel_each_and_breaches_in_red(record: DayRecord) -> None:
    with bayop_style():
        figure = draw.draw_margin(record)
    shown = [run for run in record.runs if run.kind != "bound"]
    for axes, run in zip(figure.axes, shown, strict=True):
        assert axes.get_yscale() == "linear"
        (missed,) = marked(axes, "v")
        assert missed.get_color() == SLO_COLOUR
        assert len(points_of(missed)) == sum(not w.meets_slo for w in run.windows)


def test_an_hour_is_at_the_same_place_in_all_figures(record: DayRecord) -> None:
    over_time = [draw.draw_load, draw.draw_power, draw.draw_margin, draw.draw_settings]
    with bayop_style():
        figures = [function(record) for function in over_time]
        for figure in figures:
            figure.draw_without_rendering()
    places = {(axes.get_position().x0, axes.get_position().x1) for figure in figures for axes in figure.axes}
    assert len(places) == 1


def test_bars_are_the_energies(record: DayRecord) -> None:
    with bayop_style():
        figure = draw.draw_energy(record)
    widths = [bar.get_width() for bar in figure.axes[0].patches]  # type: ignore[attr-defined]
    assert widths == pytest.approx([run.ledger.energy_j / 3.6e6 for run in record.runs])
