from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.report.conftest import marked, points_of, words

from bayop.experiments.rig.record import LiveRecord, Point
from bayop.measurement import Measurement
from bayop.report.live.figures import draw_map, draw_response
from bayop.report.style import DEFAULT_COLOUR, SLO_COLOUR, bayop_style
from bayop.space import DEFER_HARD_IRQS, GRO_FLUSH_TIMEOUT_US

# Timeout (us), deferral, p90 (us), power (W).
SWEEP = ((0, 1, 90.0, 40.0), (100, 1, 190.0, 38.0), (400, 1, 490.0, 33.0), (0, 2, 95.0, 39.0), (100, 2, 200.0, 36.0))


def point(timeout_us: float, polls: float, p90_us: float, power_w: float, *, cut_short: str | None = None) -> Point:
    seen = {"power_w": power_w, "p90_us": p90_us, "qps": 8000.0, "net_rx_per_s": 16000.0 - 10 * timeout_us}
    quantities = seen | {"service_cpu": 0.2}
    return Point.of({GRO_FLUSH_TIMEOUT_US: timeout_us, DEFER_HARD_IRQS: polls}, Measurement(quantities, {}, cut_short))


@pytest.fixture
def record() -> LiveRecord:
    seen = {"power_w": 41.0, "p90_us": 80.0, "qps": 8000.0, "net_rx_per_s": 24000.0, "service_cpu": 0.4}
    return LiveRecord(
        machine="a machine",
        slo="p90<250us",
        objective="power",
        qps=8000.0,
        seed=0,
        estimated=False,
        busy_before=0.02,
        default=Point.of({}, Measurement(seen)),
        sweep=[point(*cell) for cell in SWEEP],
        search=[point(0, 1, 90.0, 40.0), point(120, 2, 220.0, 35.5), point(0, 1, 90.0, 40.0)],
        held={GRO_FLUSH_TIMEOUT_US: 120, DEFER_HARD_IRQS: 2},
        best={GRO_FLUSH_TIMEOUT_US: 100, DEFER_HARD_IRQS: 2},
    )


class TestResponse:
    def test_a_line_for_each_value_of_the_second_knob(self, record: LiveRecord) -> None:
        with bayop_style():
            latency, cpu, polls, power = draw_response(record).axes
        one, two = (line for line in latency.lines if line.get_marker() != "None")
        assert points_of(one) == [(0.0, 90.0), (100.0, 190.0), (400.0, 490.0)]
        assert points_of(two) == [(0.0, 95.0), (100.0, 200.0)]
        assert (one.get_color(), one.get_marker()) != (two.get_color(), two.get_marker())
        assert points_of(power.lines[0]) == [(0.0, 40.0), (100.0, 38.0), (400.0, 33.0)]
        # 0.2 of a processor and 16000 softirqs a second for 8000 requests a second.
        assert points_of(cpu.lines[0])[0] == (0.0, pytest.approx(25.0))
        assert points_of(polls.lines[0]) == [(0.0, 2.0), (100.0, 1.875), (400.0, 1.5)]

    def test_the_default_is_a_dotted_line_in_every_panel(self, record: LiveRecord) -> None:
        with bayop_style():
            panels = draw_response(record).axes
        default = [line for axes in panels for line in axes.lines if line.get_color() == DEFAULT_COLOUR]
        assert [line.get_ydata()[0] for line in default] == pytest.approx([80.0, 50.0, 3.0, 41.0])  # type: ignore[index]
        assert {line.get_linestyle() for line in default} == {":"}

    def test_the_slo_is_a_line_with_its_name(self, record: LiveRecord) -> None:
        with bayop_style():
            figure = draw_response(record)
        (limit,) = [line for line in figure.axes[0].lines if line.get_color() == SLO_COLOUR]
        assert set(limit.get_ydata()) == {250.0}  # type: ignore[arg-type]
        assert {" p90<250us", "defer_hard_irqs 1", "defer_hard_irqs 2"} <= words(figure)
        assert [len(axes.texts) for axes in figure.axes] == [3, 0, 0, 0], "lines are named once"

    def test_a_limit_far_above_all_latencies_does_not_press_them_flat(self, record: LiveRecord) -> None:
        with bayop_style():
            figure = draw_response(replace(record, slo="p90<1s"))
        latency = figure.axes[0]
        assert latency.get_ylim()[1] < 1000.0
        assert " p90<1s is far above" in words(figure)

    def test_watts_that_are_alike_are_a_flat_line(self, record: LiveRecord) -> None:
        alike = [point(t, n, p90, 60.0 + 1e-10 * t) for t, n, p90, _ in SWEEP]
        with bayop_style():
            response, colours = draw_response(replace(record, sweep=alike)), draw_map(replace(record, sweep=alike))
            response.canvas.draw()
            colours.canvas.draw()
        power, bar = response.axes[-1], colours.axes[-1]
        assert power.get_ylim()[1] - power.get_ylim()[0] >= 1.0
        assert {text.get_text() for axes in response.axes for text in [axes.yaxis.get_offset_text()]} == {""}
        assert bar.get_ylim() == pytest.approx((59.5, 60.5))
        assert all(len(label.get_text()) < 6 for label in bar.get_yticklabels())

    def test_a_million_is_written_out(self, record: LiveRecord) -> None:
        slow = [point(t, n, 1e6 * p90, power_w) for t, n, p90, power_w in SWEEP]
        with bayop_style():
            figure = draw_response(replace(record, sweep=slow))
            figure.canvas.draw()
        assert figure.axes[0].yaxis.get_offset_text().get_text() == ""

    def test_axes_have_units(self, record: LiveRecord) -> None:
        with bayop_style():
            measured, estimated = draw_response(record), draw_response(replace(record, estimated=True))
        assert [axes.get_ylabel() for axes in measured.axes] == [
            "p90 (us)", "memcached's CPU time\nper request (us)", "NET_RX softirqs\nper request", "power (W)",
        ]  # fmt: skip
        assert measured.axes[-1].get_xlabel() == GRO_FLUSH_TIMEOUT_US
        assert estimated.axes[-1].get_ylabel() == "power (W, estimated)"

    def test_a_trial_that_was_cut_short_has_no_latency(self, record: LiveRecord) -> None:
        harm = [*record.sweep[:2], point(400, 1, 490.0, 33.0, cut_short="harm"), *record.sweep[3:]]
        with bayop_style():
            latency, *_, power = draw_response(replace(record, sweep=harm)).axes
        assert points_of(latency.lines[0]) == [(0.0, 90.0), (100.0, 190.0)]
        assert points_of(power.lines[0])[-1] == (400.0, 33.0)


class TestMap:
    def test_settings_are_dots_coloured_by_power(self, record: LiveRecord) -> None:
        with bayop_style():
            figure = draw_map(record)
        axes, bar = figure.axes
        dots, _ = axes.collections
        assert np.asarray(dots.get_offsets()).tolist() == [[float(t), float(n)] for t, n, _, _ in SWEEP]
        assert np.asarray(dots.get_array()).tolist() == [40.0, 38.0, 33.0, 39.0, 36.0]
        assert bar.get_ylabel() == "power (W)"
        assert (axes.get_xlabel(), axes.get_ylabel()) == (GRO_FLUSH_TIMEOUT_US, DEFER_HARD_IRQS)
        assert list(axes.get_yticks()) == [1.0, 2.0]

    def test_what_misses_the_slo_is_crossed_out(self, record: LiveRecord) -> None:
        harm = [*record.sweep, point(400, 2, 100.0, 30.0, cut_short="harm")]
        with bayop_style():
            figure = draw_map(replace(record, sweep=harm))
        _, crosses = figure.axes[0].collections
        assert np.asarray(crosses.get_offsets()).tolist() == [[400.0, 1.0], [400.0, 2.0]]
        assert "misses p90<250us" in words(figure)

    def test_the_path_has_a_number_for_every_trial(self, record: LiveRecord) -> None:
        with bayop_style():
            figure = draw_map(record)
        axes = figure.axes[0]
        assert [(0.0, 1.0), (120.0, 2.0), (0.0, 1.0)] in [points_of(line) for line in axes.lines]
        assert [(text.get_text(), text.xy) for text in axes.texts] == [  # type: ignore[attr-defined]
            ("1", (0.0, 1.0)), ("2", (120.0, 2.0)), ("3", (0.0, 1.0)),
        ]  # fmt: skip

    def test_the_best_and_what_was_found_are_marked(self, record: LiveRecord) -> None:
        with bayop_style():
            figure = draw_map(record)
        (best,), (found,) = marked(figure.axes[0], "D"), marked(figure.axes[0], "*")
        assert (points_of(best), points_of(found)) == ([(100.0, 2.0)], [(120.0, 2.0)])
        assert [text.get_text() for text in figure.legends[0].get_texts()] == [
            "misses p90<250us", "best of the sweep", "found by the search",
        ]  # fmt: skip

    def test_a_search_that_found_nothing_marks_nothing(self, record: LiveRecord) -> None:
        with bayop_style():
            figure = draw_map(replace(record, held=None, search=[]))
        assert not marked(figure.axes[0], "*")
        assert not figure.axes[0].texts
