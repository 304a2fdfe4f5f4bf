from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from matplotlib.axes import Axes
from tests.unit.report.conftest import marked, points_of

from bayop.analysis.one_knob import BOTH, DELAY_ONLY, FREQUENCY_ONLY
from bayop.analysis.savings import Reduction, Saving
from bayop.report.study.bars import draw_one_knob, draw_savings
from bayop.report.style import COLOURS, INK

MINUS = "\N{MINUS SIGN}"


def saving(
    os: str, under: str, value: float, interval: tuple[float, float] | None = None, *, setting: Mapping[str, float]
) -> Saving:
    low, high = interval or (None, None)
    return Saving({"os": os}, under, {"os": "linux"}, setting, {}, {}, {"power_w": Reduction(value, low, high)})


SAVINGS = [
    saving("linux", "no slower than the default", 0.25, (0.2, 0.3), setting={"nic.rx_usecs": 50, "cpu.freq_mhz": 1700}),
    saving("linux", "p99<500us", 0.43, (0.42, 0.44), setting={"nic.rx_usecs": 300, "cpu.freq_mhz": 1700}),
    saving("ebbrt", "p99<500us", -0.031, setting={"cpu.freq_mhz": 1300}),
]


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_a_bar_is_a_reduction_in_its_systems_colour() -> None:
    (axes,) = draw_savings(SAVINGS, "power_w").axes
    assert [bar.get_width() for bar in axes.patches] == [0.25, 0.43, -0.031]  # type: ignore[attr-defined]
    colours = [bar.get_facecolor()[:3] for bar in axes.patches]
    assert colours[0] == colours[1] != colours[2]
    linux = tuple(int(COLOURS["bayop-linux"][i : i + 2], 16) / 255 for i in (1, 3, 5))
    assert colours[0] == pytest.approx(linux)


def test_bars_stand_under_their_system_and_beside_their_bound() -> None:
    (axes,) = draw_savings(SAVINGS, "power_w").axes
    places = [bar.get_y() + bar.get_height() / 2 for bar in axes.patches]  # type: ignore[attr-defined]
    assert places == sorted(places) == pytest.approx(list(axes.get_yticks()))
    assert [t.get_text() for t in axes.get_yticklabels()] == [
        "no slower than\nthe default", "p99<500us", "p99<500us",
    ]  # fmt: skip
    low, high = axes.get_ylim()
    assert low > high, "the first is on top"
    headings = {text.get_text(): text.xy[1] for text in axes.texts if text.get_text() in ("Linux", "EbbRT")}  # type: ignore[attr-defined]
    assert headings["Linux"] < places[0] < places[1] < headings["EbbRT"] < places[2]


def test_systems_stand_right_of_the_zero_line_and_are_told_from_all_of_the_workload() -> None:
    figure = draw_savings(SAVINGS, "power_w", among=[{"os": "linux"}, {"os": "ebbrt"}])
    (axes,) = figure.axes
    figure.draw_without_rendering()
    zero = axes.transData.transform((0.0, 0.0))[0]
    names = [text for text in axes.texts if text.get_text() in ("Linux", "EbbRT")]
    assert len(names) == 2
    assert all(name.get_window_extent().x0 > zero + 1 for name in names)
    among = [{"os": "linux", "machine": machine} for machine in ("box", "box2")]
    alone = replace(SAVINGS[0], condition=among[1])
    assert "box2" in texts(draw_savings([alone], "power_w", among=among).axes[0])


def test_each_bar_says_its_number_and_its_setting() -> None:
    (axes,) = draw_savings(SAVINGS, "power_w").axes
    assert {"25.0 %: 50 us, 1.7 GHz", "43.0 %: 300 us, 1.7 GHz", f"{MINUS}3.1 %: 1.3 GHz"} <= set(texts(axes))


def test_an_interval_is_drawn_where_the_noise_is_known() -> None:
    (axes,) = draw_savings(SAVINGS, "power_w").axes
    assert [[x for x, _ in points_of(line)] for line in marked(axes, "|")] == [[0.2, 0.3], [0.42, 0.44]]


def test_the_default_is_the_zero_line_with_a_star() -> None:
    (axes,) = draw_savings(SAVINGS, "power_w").axes
    (star,) = marked(axes, "*")
    assert points_of(star) == [(0.0, 1.0)]
    assert [(0.0, 0.0), (0.0, 1.0)] in [points_of(line) for line in axes.lines if line.get_color() == INK]
    assert "default" in texts(axes)


def test_the_axis_is_in_percent_of_the_default() -> None:
    (axes,) = draw_savings(SAVINGS, "power_w").axes
    assert axes.get_xlabel() == "reduction in power against the default (%)"
    formatter = axes.xaxis.get_major_formatter()
    assert [formatter(value) for value in (0.25, -0.1)] == ["25", f"{MINUS}10"]
    assert all(-0.05 <= tick <= 0.45 for tick in axes.get_xticks()), "no ticks where the texts stand"
    low, high = axes.get_xlim()
    assert low < -0.031
    assert high > 0.6, "room for the longest text"


def test_ticks_have_the_decimals_that_their_step_needs() -> None:
    figure = draw_savings(
        [saving("linux", "p99<500us", 0.12, (-0.025, 0.12), setting={"cpu.freq_mhz": 1700})], "power_w"
    )
    figure.draw_without_rendering()
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert labels == [f"{MINUS}2.5", "0.0", "2.5", "5.0", "7.5", "10.0"]


def test_one_knob_stands_beside_both() -> None:
    tuned = {
        DELAY_ONLY: [saving("linux", DELAY_ONLY, 0.1, setting={"nic.rx_usecs": 300})],
        FREQUENCY_ONLY: [saving("linux", FREQUENCY_ONLY, 0.2, setting={"cpu.freq_mhz": 1700})],
        BOTH: [saving("linux", BOTH, 0.4, setting={"nic.rx_usecs": 300, "cpu.freq_mhz": 1700})],
    }
    (axes,) = draw_one_knob(tuned, "power_w").axes
    assert [t.get_text() for t in axes.get_yticklabels()] == ["ITR-delay only", "frequency only", "both knobs"]
    assert [bar.get_width() for bar in axes.patches] == [0.1, 0.2, 0.4]  # type: ignore[attr-defined]
