"""The generality experiment in one figure: what a search saves, for every service on every machine."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bayop.experiments.generality.record import PUBLISHED, Outcome
from bayop.report.style import FAINT, INK, SERIES
from bayop.report.svg import Drawing


def drawing(outcomes: Sequence[Outcome]) -> Drawing:
    """The figure with the words that stand for it."""
    low, high = (f"{100 * share:.0f}" for share in PUBLISHED)
    return Drawing(
        name="generality",
        title="Simulated savings of power on different machines",
        description="Simulated savings of power against the default policy, a row for each service on each machine.",
        caption=f"Simulated: every machine is a digital twin. Each mark is the median search at one load, its line the "
        f"range over searches; a hollow mark missed the SLO at least once. The band is "
        f"what [D] reports for Tailbench, {low} to {high} %.",
        figure=draw_savings(outcomes),
    )


def draw_savings(outcomes: Sequence[Outcome]) -> Figure:
    """Savings of every case: services below each other, a row a machine, a mark a load."""
    services = list(dict.fromkeys(o.service for o in outcomes))
    machines = list(dict.fromkeys(o.machine for o in outcomes))
    shares = sorted({o.load_share for o in outcomes})
    figure = Figure(figsize=(5.4, 0.9 + 0.21 * len(services) * (len(machines) + 1)), layout="constrained")
    axes = figure.subplots()
    axes.axvspan(*(100 * share for share in PUBLISHED), color=FAINT, alpha=0.35, linewidth=0)
    axes.axvline(0.0, color=INK, linewidth=0.7)
    ticks: dict[float, str] = {}
    for i, service in enumerate(services):
        top = i * (len(machines) + 1.0)
        ticks[top - 0.9] = service
        for j, machine in enumerate(machines):
            ticks[top + j] = machine
            rows = [o for o in outcomes if (o.service, o.machine) == (service, machine)]
            _draw_row(axes, top + j, rows, shares)
    axes.set_yticks(list(ticks), list(ticks.values()))
    for label in axes.get_yticklabels():
        label.set_fontweight("bold" if label.get_text() in services else "normal")
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(max(ticks) + 0.6, -1.5)
    axes.set_xlabel("simulated power saved against the default policy (%)")
    axes.grid(visible=False, axis="y")
    figure.legend(handles=_key(shares), loc="outside upper center", ncols=3)
    return figure


def _draw_row(axes: Axes, y: float, rows: Sequence[Outcome], shares: Sequence[float]) -> None:
    for share, (colour, marker) in zip(shares, SERIES, strict=False):
        here = [o for o in rows if o.load_share == share]
        if not here:
            continue
        at = y + 0.3 * (shares.index(share) - (len(shares) - 1) / 2)
        savings = [100 * o.saving for o in here]
        axes.plot([min(savings), max(savings)], [at, at], color=colour)
        face = colour if all(o.meets_slo for o in here) else "none"
        axes.plot(statistics.median(savings), at, marker, color=colour, markersize=4.5, markerfacecolor=face)


def _key(shares: Sequence[float]) -> list[Line2D | Patch]:
    marks: list[Line2D | Patch] = [
        Line2D([], [], color=colour, marker=marker, linestyle="", markersize=5, label=f"{share:.0%} of peak")
        for share, (colour, marker) in zip(shares, SERIES, strict=False)
    ]
    return [*marks, Patch(color=FAINT, alpha=0.35, label="[D], Tailbench")]
