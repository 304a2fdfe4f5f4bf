"""A day of changing load under idle governors: latency and power over time, simulated and as published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from bayop.experiments.idle.record import Day, Step, Window
from bayop.report.style import DEFAULT_COLOUR, INK, OS_COLOURS, SERIES, SLO_COLOUR, bayop_style, new_figure
from bayop.report.svg import Drawing
from bayop.units import HOUR_S

_COLOURS: Final[Mapping[str, str]] = {
    "menu": DEFAULT_COLOUR,
    "off": SERIES[1][0],
    "yawn, balancer": SERIES[0][0],
    "bayop, balancer": OS_COLOURS["linux"],
}
_DOTTED: Final = (0, (1, 1.2))
_SHORT_H: Final = 3.0
"""Shorter days are told in minutes."""
_POWERS_W: Final = (20, 30, 40, 50, 60, 70, 80, 100, 120, 150, 200, 300, 500)


def drawing(day: Day) -> Drawing:
    """The figure with the words that stand for it."""
    dotted = " Dotted: as published by [Y]." if day.is_published else ""
    return Drawing(
        name="idle-day",
        title=_title(day),
        description=f"Load, {_quantile(day)} latency and power over time under {', '.join(day.policies)}.",
        caption=f"Simulated: {day.server}, the load of {day.curve}.{dotted}",
        figure=_draw(day),
    )


def _title(day: Day) -> str:
    """What to see: the day's energy against menu, which is the first."""
    menu, *others = day.policies
    before_j = day.simulated(menu).energy_j
    parts = (f"{policy} {day.simulated(policy).energy_j / before_j - 1.0:+.1%}" for policy in others)
    return f"Energy against {menu}: {'; '.join(parts)}"


@bayop_style()
def _draw(day: Day) -> Figure:
    figure, (load, latency, power) = new_figure((7.4, 5.6), rows=3)
    steps = [window.step for window in day.of(day.policies[0])]
    is_short = day.duration_s < _SHORT_H * HOUR_S
    unit_s = 60.0 if is_short else HOUR_S
    _stairs(load, steps, [step.qps / 1e3 for step in steps], unit_s, color=INK)
    for policy in day.policies:
        _lines((latency, power), day.of(policy), unit_s, _COLOURS[policy])
    latency.axhline(day.slo.limit_us, color=SLO_COLOUR, linewidth=1.2, linestyle=(0, (5, 2)))
    latency.annotate(
        str(day.slo), (1.0, day.slo.limit_us), xycoords=("axes fraction", "data"), xytext=(4, 0),
        textcoords="offset points", va="center", fontsize=8.5,
    )  # fmt: skip
    load.set_ylabel("load\n(1,000 requests/s)")
    load.set_ylim(bottom=0.0)
    latency.set_ylabel(f"{_quantile(day)} latency\n(us)")
    latency.set_ylim(bottom=0.0)
    power.set_ylabel("power\n(W, logarithmic)")
    power.set_yscale("log")
    power.yaxis.set_major_locator(FixedLocator(_POWERS_W))
    power.yaxis.set_minor_locator(NullLocator())
    power.yaxis.set_major_formatter("{x:g}")
    power.set_ylim(*_between_ticks([it.power_w for w in day.windows for it in (w.simulated, w.published) if it]))
    power.set_xlabel("time (min)" if is_short else "time (h)")
    power.set_xlim(0.0, day.duration_s / unit_s)
    handles = [Line2D([], [], color=_COLOURS[policy], label=policy) for policy in day.policies]
    if day.is_published:
        handles.append(Line2D([], [], color=INK, linestyle=_DOTTED, label="published"))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), columnspacing=1.2)
    return figure


def _between_ticks(powers_w: Sequence[float]) -> tuple[float, float]:
    """The ticks below and above all powers: what lies beyond the last one can't be read."""
    below = [tick for tick in _POWERS_W if tick <= min(powers_w)]
    above = [tick for tick in _POWERS_W if tick >= max(powers_w)]
    return below[-1] if below else min(powers_w), above[0] if above else max(powers_w)


def _lines(axes: tuple[Axes, Axes], windows: Sequence[Window], unit_s: float, colour: str) -> None:
    """Latency and power of one policy, solid where simulated, dotted where published."""
    latency, power = axes
    simulated = [(window.step, window.simulated) for window in windows]
    published = [(window.step, window.published) for window in windows if window.published is not None]
    for shown, linestyle in ((simulated, "-"), (published, _DOTTED)):
        steps = [step for step, _ in shown]
        look = {"color": colour, "linestyle": linestyle, "linewidth": 1.2}
        _stairs(latency, steps, [it.latency_us for _, it in shown], unit_s, **look)
        _stairs(power, steps, [it.power_w for _, it in shown], unit_s, **look)


def _stairs(axes: Axes, steps: Sequence[Step], values: Sequence[float], unit_s: float, **look: Any) -> None:  # noqa: ANN401 -- passed on to matplotlib
    """A line that holds a value for the time of its step; none without steps."""
    if steps:
        times = [*(step.start_s / unit_s for step in steps), (steps[-1].start_s + steps[-1].duration_s) / unit_s]
        axes.step(times, [*values, values[-1]], where="post", **look)


def _quantile(day: Day) -> str:
    return day.slo.quantity.removesuffix("_us")
