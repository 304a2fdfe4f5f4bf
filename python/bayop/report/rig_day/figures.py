"""A day on the rig over its hours: load, latency, what a request cost, and what BayOp had in effect."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayop.experiments.rig.day.record import RigDay, Turn, Who
from bayop.experiments.rig.day.summary import turns_of, windows_of, work_of
from bayop.report.style import (
    COLUMN_WIDE,
    DEFAULT_COLOUR,
    INK,
    OS_COLOURS,
    SLO_COLOUR,
    EndLabel,
    label_ends,
    new_figure,
)
from bayop.slo import Slo

LABELS: dict[Who, str] = {"default": "default", "bayop": "BayOp"}
_COLOURS: dict[Who, str] = {"default": DEFAULT_COLOUR, "bayop": OS_COLOURS["linux"]}
_TICK_HOURS = 4


def draw_hours(day: RigDay) -> Figure:
    """Load, latency, processor time, polls and any power for each hour, the default beside BayOp."""
    slo = Slo.parse(day.slo)
    width, height = COLUMN_WIDE
    rows = 4 + any(turn.energy_j is not None for turn in day.turns)
    figure, (load, latency, cpu, polls, *power) = new_figure((width, 0.6 * rows * height), rows=rows)
    hours = range(len(day.hourly_qps) + 1)
    load.step(hours, [*day.hourly_qps, day.hourly_qps[-1]], where="post", color=INK)
    load.set_ylabel("load (requests/s)")
    ends = _draw(latency, day, lambda turn: turn.latency_us)
    latency.set_ylabel(f"{slo.quantity.removesuffix('_us')} (us)")
    latency.axhline(slo.limit_us, color=SLO_COLOUR, linestyle="--", linewidth=1.2)
    _draw(cpu, day, lambda turn: work_of([turn]).cpu_us)
    cpu.set_ylabel("memcached's CPU time\nper request (us)")
    _draw(polls, day, lambda turn: work_of([turn]).polls)
    polls.set_ylabel("NET_RX softirqs\nper request")
    for axes in power:
        _draw(axes, day, lambda turn: work_of([turn]).power_w)
        axes.set_ylabel("power (W)")
    panels = (load, latency, cpu, polls, *power)
    for axes in panels:
        axes.set_ylim(bottom=0.0, top=1.1 * axes.get_ylim()[1])
    label_ends(latency, ends, gap=0.13)
    panels[-1].set_xlim(0, len(day.hourly_qps))
    panels[-1].set_xticks(range(0, len(day.hourly_qps) + 1, min(_TICK_HOURS, len(day.hourly_qps))))
    panels[-1].set_xlabel("hour of the day")
    return figure


def draw_settings(day: RigDay) -> Figure:
    """The values of every knob while BayOp had its turns, trials fainter than what was held."""
    knobs = sorted({knob for window in day.windows for knob in window.setting or {}})
    width, height = COLUMN_WIDE
    figure, panels = new_figure((width, height * (0.4 + 0.5 * max(len(knobs), 1))), rows=max(len(knobs), 1))
    for axes, knob in zip(panels, knobs, strict=False):
        for turn in turns_of(day, "bayop"):
            for window in windows_of(day, turn):
                if window.setting is None or knob not in window.setting:
                    continue
                start = _hour_of(turn, window.start_s, day.hour_s)
                held = window.phase in ("hold", "fall-back")
                axes.plot(
                    [start, start + window.duration_s / day.hour_s], [float(window.setting[knob])] * 2,
                    color=_COLOURS["bayop"], alpha=1.0 if held else 0.35, linewidth=2.2 if held else 1.2,
                )  # fmt: skip
        axes.set_ylabel(knob.rpartition(".")[2].replace("_", " "))
        axes.set_ylim(bottom=0.0)
    panels[-1].set_xlim(0, len(day.hourly_qps))
    panels[-1].set_xlabel("hour of the day")
    return figure


def _hour_of(turn: Turn, time_s: float, hour_s: float) -> float:
    return turn.hour + turn.part / 2.0 + (time_s - turn.start_s) / hour_s


def _draw(axes: Axes, day: RigDay, value: Callable[[Turn], float | None]) -> list[EndLabel]:
    """Draws a line for each of the two; where they end."""
    ends: list[EndLabel] = []
    for who, colour in _COLOURS.items():
        points: Sequence[tuple[float, float]] = [
            (turn.hour + 0.5, v) for turn in turns_of(day, who) if (v := value(turn)) is not None
        ]
        axes.plot([x for x, _ in points], [y for _, y in points], color=colour, marker="o", markersize=3.0)
        if points:
            ends.append(EndLabel(points[-1][1], LABELS[who], colour))
    return ends
