from __future__ import annotations

from dataclasses import replace

import pytest

from bayop.experiments.day.record import DayRecord, RunRecord
from bayop.report.day.search_maps import draw_first_search, draw_searches
from bayop.report.style import bayop_style


def run_of(record: DayRecord, run_id: str) -> RunRecord:
    run = record.run(run_id)
    assert run is not None
    return run


@pytest.mark.parametrize("run_id", ["bayop-linux", "bayop-ebbrt", "itr-only", "frequency-only"])
def test_every_hour_has_a_map_and_every_trial_a_number(record: DayRecord, run_id: str) -> None:
    run = run_of(record, run_id)
    with bayop_style():
        figure = draw_searches(record, run)
        assert figure is not None
        figure.draw_without_rendering()
    titled = [axes for axes in figure.axes if axes.get_title()]
    assert [axes.get_title() for axes in titled] == ["00:00, 300K/s", "01:00, 500K/s"]
    numbers = [t.get_text() for axes in titled for t in axes.texts]
    assert len(numbers) == run.trials


def test_a_knob_left_alone_has_its_lane(record: DayRecord) -> None:
    with bayop_style():
        itr, frequency = (draw_searches(record, run_of(record, i)) for i in ("itr-only", "frequency-only"))
    assert itr is not None
    assert frequency is not None
    assert "auto" in [t.get_text() for t in itr.axes[0].get_yticklabels()]
    assert "auto" in [t.get_text() for t in frequency.axes[0].get_xticklabels()]


def test_the_first_search_is_drawn_large(record: DayRecord) -> None:
    with bayop_style():
        figure = draw_first_search(record, run_of(record, "bayop-linux"))
    assert figure is not None
    assert "us" in figure.axes[0].get_xlabel()


def test_without_maps_or_searches_there_is_no_figure(record: DayRecord) -> None:
    run = run_of(record, "bayop-linux")
    with bayop_style():
        assert draw_searches(replace(record, maps=()), run) is None
        assert draw_first_search(replace(record, maps=()), run) is None
        assert draw_first_search(record, replace(run, searches=())) is None
