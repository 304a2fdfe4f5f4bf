from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from tests.support.interrupt_logs import LINES, drawn_lines, write_lines
from tests.unit.report.conftest import points_of, words

from bayop.interrupts.log import open_log
from bayop.interrupts.query import summarise
from bayop.interrupts.summary import Summary
from bayop.report.interrupts.figures import (
    draw_rates,
    draw_spacing,
    draw_spacing_over_time,
    draw_traffic,
    styles_of,
)
from bayop.report.interrupts.rates import rates_of
from bayop.report.style import COLOURS, bayop_style

Draw = Callable[[Mapping[str, Summary]], Figure]
EVERY = (draw_spacing, draw_spacing_over_time, draw_traffic, draw_rates)


@pytest.fixture
def logs(tmp_path: Path) -> dict[str, Summary]:
    """The six records that were made by hand, at 1 GHz, and a drawn log of EbbRT."""
    by_hand = open_log(write_lines(tmp_path / "hand", LINES), tsc_hz=1_000_000_000)
    drawn = open_log(write_lines(tmp_path / "drawn", drawn_lines(400, seed=7)))
    return {"linux_default": summarise(by_hand), "ebbrt": summarise(drawn)}


def drawn(draw: Draw, logs: Mapping[str, Summary]) -> Figure:
    with bayop_style():
        return draw(logs)


def test_the_default_policy_is_grey_and_no_two_logs_look_alike() -> None:
    styles = styles_of(["linux_default_64B", "linux_default_8192B", "ebbrt", "linux_static", "x", "y", "z"])
    assert {styles[n]["color"] for n in ("linux_default_64B", "linux_default_8192B")} == {COLOURS["linux-default"]}
    assert styles["ebbrt"]["color"] == COLOURS["bayop-ebbrt"]
    assert len({tuple(style.values()) for style in styles.values()}) == 7


@pytest.mark.parametrize("draw", EVERY, ids=lambda draw: draw.__name__)
def test_every_log_is_named(logs: dict[str, Summary], draw: Draw) -> None:
    assert set(logs) <= words(drawn(draw, logs))


@pytest.mark.parametrize(
    ("draw", "units"),
    [
        (draw_spacing, {"time since the interrupt before (us)"}),
        (draw_spacing_over_time, {"time since the interrupt before (us)", "time (ms)"}),
        (draw_traffic, {"bytes per interrupt (linear below 64)"}),
        (draw_rates, {"power of\nthe package (W)", "10⁹ instructions/s", "time (ms)"}),
    ],
)
def test_axes_have_units(logs: dict[str, Summary], draw: Draw, units: set[str]) -> None:
    assert units <= words(drawn(draw, logs))


def test_spacing_is_a_histogram_of_all_interrupts_and_its_sum(logs: dict[str, Summary]) -> None:
    shares, cumulated = drawn(draw_spacing, logs).axes
    assert [sum(stairs.get_data().values) for stairs in shares.patches] == pytest.approx([1.0, 1.0])  # type: ignore[attr-defined]
    hand, ebbrt = cumulated.lines
    # 29 us three times, 2842 us, 2900 us; off by 0.4 % at most.
    steps = [
        (pytest.approx(x, rel=0.004), pytest.approx(y)) for x, y in ((29, 0.0), (29, 0.6), (2842, 0.8), (2900, 1.0))
    ]
    assert points_of(hand) == steps
    assert points_of(ebbrt)[-1][1] == pytest.approx(1.0)
    assert shares.get_xscale() == "log"
    low, high = shares.get_xlim()
    assert low < 29
    assert high > 2900


def test_a_log_of_one_record_has_no_spacing_to_draw(tmp_path: Path) -> None:
    alone = summarise(open_log(write_lines(tmp_path / "log", LINES[:1])))
    shares, cumulated = drawn(draw_spacing, {"one": alone}).axes
    assert not shares.patches
    assert not cumulated.lines


def test_a_map_shows_of_each_moment_the_shares_of_its_interrupts(logs: dict[str, Summary]) -> None:
    figure = drawn(draw_spacing_over_time, logs)
    panels = figure.axes[:2]
    assert [axes.get_title(loc="left") for axes in panels] == ["linux_default", "ebbrt"]
    for axes, summary in zip(panels, logs.values(), strict=True):
        (mesh,) = axes.collections
        shares = np.ma.filled(np.ma.asarray(mesh.get_array()), 0.0).sum(axis=0)
        came = summary.bins.spacing.sum(axis=1) > 0
        assert shares == pytest.approx(came.astype(float))
    assert panels[0].get_xlim() == pytest.approx((0.0, 5.829))
    (mesh,) = panels[0].collections
    edges_us = mesh.get_coordinates()[:, 0, 1]  # type: ignore[attr-defined]
    assert edges_us[0] <= 29 < edges_us[1]
    assert edges_us[-2] <= 2900 < edges_us[-1]


def test_the_labels_of_one_map_are_inside_the_figure(logs: dict[str, Summary]) -> None:
    figure = drawn(draw_spacing_over_time, {"ebbrt": logs["ebbrt"]})
    words(figure)
    panel, scale = figure.axes
    for box in (figure.texts[0].get_window_extent(), scale.yaxis.label.get_window_extent()):
        assert 0.0 <= box.y0 < box.y1 <= figure.bbox.height
    figure.draw_without_rendering()
    low, high = panel.get_ylim()
    ticks = [*panel.yaxis.get_major_ticks(), *panel.yaxis.get_minor_ticks()]
    assert [t for t in ticks if t.label1.get_text() and low <= t.get_loc() <= high], "no axis without a number"


def test_traffic_is_cumulated_from_nothing_to_the_greatest(logs: dict[str, Summary]) -> None:
    received, sent = drawn(draw_traffic, logs).axes
    hand, _ = received.lines
    # Of six interrupts three brought nothing, one 60, one 66 and one 8588 bytes.
    assert [y for _, y in points_of(hand)][:-1] == pytest.approx([0.0, 3 / 6, 4 / 6, 5 / 6, 1.0])
    assert [x for x, _ in points_of(hand)][1:-1] == pytest.approx([0, 60, 66, 8588], rel=0.004)
    assert received.get_xlim()[1] == pytest.approx(2 * 8588)
    assert [y for _, y in points_of(sent.lines[0])][:3] == pytest.approx([0.0, 3 / 6, 5 / 6])
    assert (received.get_ylabel(), sent.get_ylabel()) == (
        "share of interrupts\nwith at most that received", "share of interrupts\nwith at most that sent",
    )  # fmt: skip


def test_rates_are_at_the_middle_of_their_time_and_unknown_ones_left_out(published: dict[Path, Summary]) -> None:
    logs = {path.name: summary for path, summary in published.items()}
    power, instructions, utilization = drawn(draw_rates, logs).axes
    for i, summary in enumerate(logs.values()):
        rates = rates_of(summary)
        known = np.isfinite(rates.power_w)
        expected = np.column_stack([1e3 * (rates.start_s + rates.width_s / 2), rates.power_w])[known]
        np.testing.assert_allclose(points_of(power.lines[i]), expected)
        instructions_per_s = rates.instructions_per_s[np.isfinite(rates.instructions_per_s)]
        np.testing.assert_allclose([y for _, y in points_of(instructions.lines[i])], instructions_per_s / 1e9)
        assert max(y for _, y in points_of(utilization.lines[i])) <= 1.05
    assert [axes.get_ylim()[0] for axes in (power, instructions, utilization)] == [0.0, 0.0, 0.0]


def test_the_default_is_grey_in_every_line(logs: dict[str, Summary]) -> None:
    for draw in (draw_traffic, draw_rates):
        for axes in drawn(draw, logs).axes:
            assert [line.get_color() for line in axes.lines] == [COLOURS["linux-default"], COLOURS["bayop-ebbrt"]]
