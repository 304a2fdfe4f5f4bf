"""Figures of idle governors: energy against latency, and what they chose over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import Final

from matplotlib.figure import Figure

from bayop.idle.machines import Machine
from bayop.idle.replay import LIMIT_US, PRICE, Replayed, choices, replay
from bayop.idle.trace import Trace
from bayop.report.style import COLUMN_WIDE, SERIES, bayop_style, new_figure
from bayop.report.svg import Drawing, save

PRICES: Final = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0, 4.0)
_MARKERS: Final = "osDv^"
_STAYS: Final = 400
"""Drawn of a trace, from its middle."""


def write_report(
    traces: Sequence[Trace],
    governors: Sequence[str],
    machine: Machine,
    folder: Path,
    *,
    price: float = PRICE,
    limit_us: int = LIMIT_US,
) -> list[str]:
    """Draws the figures into a folder; returns the names of the files.

    Args:
        traces: Idle periods.
        governors: Some of `governors()`.
        machine: Whose idle states there are.
        folder: Where the files go.
        price: Of latency, for `bayop`.
        limit_us: What is late for `bayop-slo`.

    Raises:
        InputError: the folder can't be written.
    """
    with bayop_style():
        drawings = [
            energy_against_latency(traces, governors, machine, price=price, limit_us=limit_us),
            choices_over_time(traces[0], governors, machine, price=price, limit_us=limit_us),
        ]
        for drawing in drawings:
            save(drawing, folder)
    return [f"{drawing.name}.{ending}" for drawing in drawings for ending in ("svg", "png")]


def energy_against_latency(
    traces: Sequence[Trace],
    governors: Sequence[str],
    machine: Machine,
    *,
    price: float = PRICE,
    limit_us: int = LIMIT_US,
) -> Drawing:
    """Each governor as a point, and `bayop` as a line of what it makes of each price: means over the traces."""

    def means(governor: str, price: float) -> tuple[float, float]:
        return _means([replay(trace, governor, machine, price=price, limit_us=limit_us) for trace in traces])

    priced = [means("bayop", price) for price in PRICES]
    points = {_label(name, price, limit_us): means(name, price) for name in governors}
    return Drawing(
        "idle-energy-latency",
        "Energy against wake latency",
        "Energy over the clairvoyant minimum against mean wake latency: bayop as a line over prices, others as points.",
        f"Means over {len(traces)} traces on the idle states of {machine.name}; along the line, the price of latency.",
        _trade_off(priced, points),
    )


def choices_over_time(
    trace: Trace, governors: Sequence[str], machine: Machine, *, price: float = PRICE, limit_us: int = LIMIT_US
) -> Drawing:
    """Which state each governor chose when, for a stretch of a trace."""
    width, height = COLUMN_WIDE
    figure, panels = new_figure((width, 0.5 * height * len(governors) + 0.4), rows=len(governors))
    middle = len(trace.rows) // 2
    stretch = Trace(trace.name, trace.rows[: middle + _STAYS])
    for axes, governor in zip(panels, governors, strict=True):
        stays = choices(stretch, governor, machine, price=price, limit_us=limit_us)[-_STAYS:]
        axes.scatter([at for at, _, _ in stays], [state for _, state, _ in stays], s=4, color=SERIES[0][0])
        axes.set_yticks(range(len(machine.states)), [state.name for state in machine.states])
        axes.set_ylim(-0.5, len(machine.states) - 0.5)
        axes.set_ylabel(_label(governor, price, limit_us))
    panels[-1].set_xlabel("time (s)")
    return Drawing(
        "idle-choices",
        "Idle states over time",
        f"The idle state of each stay of {trace.name}, under each governor.",
        f"{_STAYS} stays from the middle of {trace.name}.",
        figure,
    )


def _means(rows: Sequence[Replayed]) -> tuple[float, float]:
    energy = geometric_mean(row.energy_over_clairvoyant for row in rows)
    return fmean(row.wake_latency_mean_us for row in rows), energy


def _trade_off(priced: Sequence[tuple[float, float]], points: Mapping[str, tuple[float, float]]) -> Figure:
    figure, (axes,) = new_figure()
    axes.plot(*zip(*priced, strict=True), color=SERIES[0][0], marker=".", label="bayop, by price")
    for (name, (latency_us, energy)), (colour, marker) in zip(points.items(), _styles(len(points)), strict=True):
        axes.plot([latency_us], [energy], color=colour, marker=marker, linestyle="none", label=name)
    axes.set_xlabel("mean wake latency (us)")
    axes.set_ylabel("energy over the\nclairvoyant minimum")
    figure.legend(loc="outside upper center", ncols=3)
    return figure


def _label(governor: str, price: float, limit_us: int) -> str:
    """A governor with what it was told."""
    told = {"bayop": f"price {price:g}", "bayop-slo": f"{limit_us} us"}
    return f"{governor}, {told[governor]}" if governor in told else governor


def _styles(count: int) -> list[tuple[str, str]]:
    """As many looks, no two the same: all colours with one marker, then with the next."""
    colours = [colour for colour, _ in SERIES[1:]]
    return [(colours[i % len(colours)], _MARKERS[i // len(colours)]) for i in range(count)]
