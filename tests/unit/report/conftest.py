from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bayop.analysis.conditions import DELAY, FREQUENCY
from bayop.analysis.trade_off import TradeOff
from bayop.control.triggers import parse_trigger
from bayop.experiments.day.play import DayPlan, play_day
from bayop.experiments.day.record import DayRecord
from bayop.experiments.day.sweep import Effort
from bayop.interrupts.log import open_log
from bayop.interrupts.query import summarise
from bayop.interrupts.summary import Summary
from bayop.load.curve import LoadCurve
from bayop.objective import Objective
from bayop.report.style import bayop_style
from bayop.slo import Slo
from bayop.testing.fakes import Shape
from bayop.testing.plants import FakeOracle

POWER = TradeOff("p99_us", "power_w")

# ITR-delay (us), frequency (MHz), p99 (us), power (W). The third setting of Linux is slower and dearer than another.
LINUX = (
    (None, None, 100.0, 130.0),
    (10.0, 2000.0, 120.0, 100.0),
    (10.0, 1000.0, 150.0, 105.0),
    (200.0, 2000.0, 300.0, 70.0),
    (200.0, 1000.0, 400.0, 60.0),
)
EBBRT = (
    (10.0, 2000.0, 70.0, 95.0),
    (10.0, 1000.0, 90.0, 85.0),
    (200.0, 2000.0, 220.0, 65.0),
    (200.0, 1000.0, 260.0, 50.0),
)


@pytest.fixture(scope="session")
def record() -> DayRecord:
    """Two hours of a small server, with every configuration."""
    plan = DayPlan(
        app="memcached",
        objective=Objective.parse("power", Slo.parse("p99<300us")),
        curve=LoadCurve("twitter", (3e5, 5e5)),
        trigger=parse_trigger("clock,breach"),
        trigger_name="clock,breach",
        seed=1,
        requests=1000,
        effort=Effort(1000, 1000, threads=1),
    )
    return play_day(plan, {"linux": FakeOracle(), "ebbrt": FakeOracle(Shape(cycles=20_000))})


@pytest.fixture(scope="session")
def published(data: Path) -> dict[Path, Summary]:
    """Two published interrupt logs: Linux's default policy and a static delay."""
    return {path: summarise(open_log(path)) for path in sorted(data.glob("interrupts_netpipe_linux_*_8192B*"))}


def words(figure: Figure) -> set[str]:
    """Every text of a figure, as it is drawn."""
    with bayop_style():
        figure.draw_without_rendering()
    return {t.get_text() for t in figure.findobj(lambda a: hasattr(a, "get_text"))}  # type: ignore[attr-defined]


def cells_of(
    points: Sequence[tuple[float | None, float | None, float, float]], *, os: str = "linux", error: float | None = None
) -> pl.DataFrame:
    """Means of a condition as `bayop.analysis.cells` gives them; `error` is the relative standard error of each."""
    delays, freqs, latencies, powers = zip(*points, strict=True)
    columns = {DELAY: delays, FREQUENCY: freqs, "p99_us": latencies, "power_w": powers}
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Float64))
    noise = [
        pl.col(q).mul(error).cast(pl.Float64).alias(f"se.{q}")
        if error is not None
        else pl.lit(None, pl.Float64).alias(f"se.{q}")
        for q in POWER.quantities
    ]
    dof = pl.lit(None if error is None else 10.0, pl.Float64)
    return frame.with_columns(
        *noise, *(dof.alias(f"dof.{q}") for q in POWER.quantities), repeats=pl.lit(3), os=pl.lit(os),
        app=pl.lit("memcached"), qps_offered=pl.lit(6e5),
    )  # fmt: skip


@pytest.fixture
def systems() -> pl.DataFrame:
    """The cells of two systems of one workload, of which Linux alone has a default."""
    return pl.concat([cells_of(LINUX), cells_of(EBBRT, os="ebbrt")])


def points_of(line: Line2D) -> list[tuple[Any, Any]]:
    """The data of a line, as numbers."""
    return [(float(x), float(y)) for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)]  # type: ignore[arg-type]


def marked(axes: Axes, marker: str) -> list[Line2D]:
    """The lines with a marker."""
    return [line for line in axes.lines if line.get_marker() == marker]
