from __future__ import annotations

from collections.abc import Callable

import pytest
from matplotlib.figure import Figure
from tests.unit.report.conftest import words

from bayop.report import day_figures as draw
from bayop.report.style import bayop_style
from bayop.study.day_record import DayRecord

DRAWN = [draw.draw_load, draw.draw_power, draw.draw_latency, draw.draw_settings, draw.draw_energy]


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


def test_latency_shows_the_slo(record: DayRecord) -> None:
    with bayop_style():
        figure = draw.draw_latency(record)
    assert "SLO p99<300us" in words(figure)
    assert any(300.0 in line.get_ydata() for line in figure.axes[0].lines)  # type: ignore[operator]


def test_bars_are_the_energies(record: DayRecord) -> None:
    with bayop_style():
        figure = draw.draw_energy(record)
    widths = [bar.get_width() for bar in figure.axes[0].patches]  # type: ignore[attr-defined]
    assert widths == pytest.approx([run.ledger.energy_j / 3.6e6 for run in record.runs])
