"""The page of a day on the rig, from a record by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.report.conftest import points_of

from bayop.experiments.rig.day.record import RigDay, RunWindow, Turn, Who
from bayop.report.rig_day.figures import draw_hours
from bayop.report.rig_day.report import caveats, headline, write_report
from bayop.report.style import SLO_COLOUR, bayop_style


@pytest.fixture
def day() -> RigDay:
    """Six hours; BayOp takes 30 us of processor time a request and the default 40 us."""
    record = RigDay("a machine", "p90<500us", "net_rx_per_s / qps", "flat", [100.0] * 6, 20.0, 3, 0.9)
    record.duration_s, record.brain_cpu_s, record.restored = 120.0, 12.0, True
    for number in range(12):
        is_default, start_s = number % 2 == 0, 10.0 * number
        who: Who = "default" if is_default else "bayop"
        latency_us, over, cpu_s, polls = (100.0, 0, 0.04, 2000) if is_default else (400.0, 10, 0.03, 1500)
        ends_s = start_s + 10.0
        turn = Turn(number // 2, number % 2, who, 100.0, start_s, ends_s, latency_us, 1000, over, 1000, cpu_s, polls)
        record.turns.append(turn)
        if not is_default:
            record.windows.append(RunWindow(start_s + 1.0, 8.0, "hold", {"napi.gro_flush_timeout_us": 200.0}))
    return record


def test_the_headline_has_the_savings_and_what_clients_saw(day: RigDay) -> None:
    said = headline(day)
    assert re.match(r"BayOp saves 25\.0+% of memcached.s processor time per request \(95 % CI 25", said)
    assert "1.00% of its requests were over 500 us (0.00% with the default; the SLO allows 10%)" in said
    del day.turns[1:]
    assert headline(day) == "No hour was played to its end."


def test_other_work_and_what_was_left_are_said(day: RigDay) -> None:
    assert any("90% busy" in sentence for sentence in caveats(day))
    day.busy_before, day.restored = 0.0, False
    assert "did not have all of its own settings back" in caveats(day)[-1]


def test_the_figure_has_a_line_for_each(day: RigDay) -> None:
    with bayop_style():
        _, latency, cpu, _ = draw_hours(day).axes
    default, bayop, limit = latency.lines
    assert points_of(default)[0] == (0.5, 100.0)
    assert points_of(bayop)[-1] == (5.5, 400.0)
    assert limit.get_color() == SLO_COLOUR
    assert points_of(cpu.lines[1])[0] == (0.5, pytest.approx(30.0))


def test_the_page(day: RigDay, tmp_path: Path) -> None:
    page = write_report(day, tmp_path, "1.0").read_text(encoding="utf-8")
    assert page.count("<svg") == 2
    assert page.count("<tr>") == 13
    assert '<div class="table wrapped">' in page
    assert "bayop run minimised net_rx_per_s / qps, and took 10% of a processor" in page


def test_power_has_a_column_where_it_was_measured(day: RigDay, tmp_path: Path) -> None:
    without = write_report(day, tmp_path, "1.0").read_text(encoding="utf-8")
    day.turns[0] = replace(day.turns[0], energy_j=500.0)
    measured = write_report(day, tmp_path, "1.0").read_text(encoding="utf-8")
    assert '<th scope="col">W</th>' not in without
    assert '<th scope="col">W</th>' in measured
    assert "<td>50.0</td>" in measured
