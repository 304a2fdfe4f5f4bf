from __future__ import annotations

import numpy as np

from bayop.experiments.idle.record import Day, Shown, Step, Window
from bayop.report.idle_day import drawing
from bayop.slo import Slo


def day(duration_s: float, published: Shown | None) -> Day:
    steps = [Step(i * duration_s, duration_s, qps) for i, qps in enumerate((5e3, 9e3))]
    power_w = {"menu": 100.0, "off": 150.0, "yawn, balancer": 90.0}
    windows = [Window(name, step, Shown(w, 120.0), published) for step in steps for name, w in power_w.items()]
    return Day("a server", "a curve", Slo.parse("p99<200us"), windows)


def test_the_title_says_what_each_policy_takes_against_menu() -> None:
    drawn = drawing(day(60.0, None))
    assert drawn.title == "Energy against menu: off +50.0%; yawn, balancer -10.0%"
    assert "Dotted" not in drawn.caption


def test_what_was_published_is_dotted_beside_what_was_simulated() -> None:
    drawn = drawing(day(60.0, Shown(80.0, 140.0)))
    assert "Dotted: as published" in drawn.caption
    _, _, power = drawn.figure.axes
    assert (power.get_ylabel(), power.get_ylim()) == ("power\n(W, logarithmic)", (80.0, 150.0))
    assert [(float(np.asarray(line.get_ydata())[0]), line.is_dashed()) for line in power.get_lines()] == [
        (100.0, False), (80.0, True), (150.0, False), (80.0, True), (90.0, False), (80.0, True)
    ]  # fmt: skip


def test_short_days_are_told_in_minutes_and_long_ones_in_hours() -> None:
    for duration_s, label, end in ((60.0, "time (min)", 2.0), (12 * 3600.0, "time (h)", 24.0)):
        power = drawing(day(duration_s, None)).figure.axes[-1]
        assert (power.get_xlabel(), power.get_xlim()) == (label, (0.0, end))
