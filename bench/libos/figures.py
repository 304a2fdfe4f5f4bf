"""Figures of what a request costs: by connections, load and layer, by the interrupt delay, and by how a core waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Final

from bench.libos.costs import Cost
from bench.libos.delays import WAITS, Row
from bench.libos.linux import TUNED
from bench.libos.plan import LIBRARY_OS
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, StrMethodFormatter

from bayop.report.style import DEFAULT_COLOUR, OS_COLOURS, SERIES, bayop_style
from bayop.report.svg import Drawing

_MARKS: Final[Mapping[str, tuple[str, str, str, float]]] = {
    "linux": (DEFAULT_COLOUR, "v", "Linux", 1.9),
    TUNED: (OS_COLOURS["linux"], "s", "Linux, tuned", 1.0),
    LIBRARY_OS: (*SERIES[0], "library OS", 1.0),
}
"""Colour, marker, name and weight: the first is seen under what lies on it."""
_TITLES: Final = {"memcached": "memcached, a request", "tpcc": "TPC-C, a transaction"}
_LAYER_LOOKS: Final = tuple((colour, hatch) for hatch in ("", "///") for colour, _ in SERIES)
"""No two layers look the same on paper without colour either."""
_DASHES: Final = ("-", "--", ":")


def drawings(costs: Sequence[Cost]) -> Sequence[Drawing]:
    """The figures that rows have enough for."""
    by_connections, by_load = _over(costs, "connections", "qps"), _over(costs, "qps", "connections")
    by_layer = [cost for cost in costs if cost.layers]
    found = []
    if by_connections:
        found.append(
            Drawing(
                "libos-instructions",
                "Instructions of a request and of a transaction by the number of connections",
                "Instructions over the number of connections, on Linux, on tuned Linux and on the library OS.",
                "Medians over machines, least and greatest of them, at the least load that was counted.",
                _lines(by_connections, lambda cost: cost.connections, "connections"),
            )
        )
    if by_load:
        found.append(
            Drawing(
                "libos-loads",
                "Instructions of a request by the load",
                "Instructions over requests per second, on Linux, on tuned Linux and on the library OS.",
                "The more is asked, the more requests share a wake-up. Medians, least and greatest of machines.",
                _lines(by_load, lambda cost: cost.qps, "requests/s"),
            )
        )
    if by_layer:
        found.append(
            Drawing(
                "libos-layers",
                "Instructions of the library OS by layer",
                "Bars of instructions, stacked by layer, for each service under each load.",
                "Whose the instructions are, by line numbers. Medians over machines.",
                _layers(by_layer),
            )
        )
    return found


def delay_drawings(rows: Sequence[Row]) -> Sequence[Drawing]:
    """The figures of `bench.libos.delays`."""
    return [
        Drawing(
            "libos-delays",
            "Interrupts, instructions and latency by the interrupt delay",
            "Interrupts a request, instructions a request and median latency over the interrupt delay of an e1000e.",
            "Solid: the lower load; dashed: the higher one. Medians over machines.",
            _delays([row for row in rows if row.delay_us]),
        ),
        Drawing(
            "libos-waits",
            "Interrupts against polling by the load",
            "Instructions and interrupts a request, and the 99th percentile of latency, over requests per second.",
            "At the right end a closed loop. Medians over machines.",
            _waits([row for row in rows if not row.delay_us]),
        ),
    ]


def _over(costs: Sequence[Cost], varies: str, fixed: str) -> Mapping[str, Sequence[Cost]]:
    """Rows of each service that differ in one thing: of those that share the other, the most, of these the least."""
    found = {}
    for app in dict.fromkeys(cost.app for cost in costs):
        own = [cost for cost in costs if cost.app == app]
        groups = [
            [cost for cost in own if getattr(cost, fixed) == at] for at in sorted({getattr(c, fixed) for c in own})
        ]
        best = max(groups, key=lambda group: len({getattr(cost, varies) for cost in group}))
        lines = [[cost for cost in best if cost.system == system] for system in _MARKS]
        if rows := [cost for line in lines if len(line) > 1 for cost in line]:
            found[app] = rows
    return found


@bayop_style()
def _lines(rows: Mapping[str, Sequence[Cost]], at: Callable[[Cost], float], label: str) -> Figure:
    figure = Figure(figsize=(7.4 if len(rows) > 1 else 5.4, 3.2), layout="constrained")
    for axes, (app, own) in zip(figure.subplots(1, len(rows), squeeze=False)[0], rows.items(), strict=True):
        for system, (colour, marker, name, weight) in _MARKS.items():
            some = sorted((row for row in own if row.system == system), key=at)
            if not some:
                continue
            middle = [row.instructions_per_request / 1e3 for row in some]
            below = [mid - row.instructions_least / 1e3 for mid, row in zip(middle, some, strict=True)]
            above = [row.instructions_greatest / 1e3 - mid for mid, row in zip(middle, some, strict=True)]
            axes.errorbar(
                [at(row) for row in some], middle, (below, above), color=colour, marker=marker,
                markersize=4.5 * weight, linewidth=1.6 * weight, elinewidth=1.6, label=name,
            )  # fmt: skip
        axes.margins(y=0.1)
        _log_axis(axes, [at(row) for row in own], label)
        axes.set_ylim(bottom=0.0)
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.set_title(_TITLES.get(app, f"{app}, a request"), loc="left", fontweight="bold")
    figure.axes[0].set_ylabel("thousand instructions")
    _key(figure)
    return figure


@bayop_style()
def _layers(rows: Sequence[Cost]) -> Figure:
    apps = list(dict.fromkeys(row.app for row in rows))
    counts = [sum(row.app == app for row in rows) for app in apps]
    figure = Figure(figsize=(7.4, 1.1 + 0.35 * sum(counts) + 0.5 * len(apps)), layout="constrained")
    panels = figure.subplots(len(apps), 1, squeeze=False, height_ratios=counts)
    layers = list(dict.fromkeys(layer for row in rows for layer in row.layers))
    for (axes,), app in zip(panels, apps, strict=True):
        own = [row for row in rows if row.app == app]
        left = [0.0] * len(own)
        for layer, (colour, hatch) in zip(layers, _LAYER_LOOKS, strict=False):
            widths = [row.layers.get(layer, 0.0) / 1e3 for row in own]
            axes.barh(
                range(len(own)), widths, left=left, height=0.7, color=colour, hatch=hatch, edgecolor="white",
                linewidth=0.0, label=layer,
            )  # fmt: skip
            left = [a + b for a, b in zip(left, widths, strict=True)]
        axes.set_yticks(range(len(own)), [f"{row.connections:,} at {row.qps:,.0f}/s" for row in own])
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        axes.set_title(_TITLES.get(app, f"{app}, a request"), loc="left", fontweight="bold")
    panels[-1][0].set_xlabel("thousand instructions")
    _key(figure, columns=4)
    return figure


@bayop_style()
def _delays(rows: Sequence[Row]) -> Figure:
    def draw(axes: Axes, value: Callable[[Row], float]) -> None:
        for system, (colour, marker, name, _) in _MARKS.items():
            for qps, dashes in zip(sorted({row.qps for row in rows if row.system == system}), _DASHES, strict=False):
                own = [row for row in rows if (row.system, row.qps) == (system, qps)]
                x, y = _medians(own, lambda row: row.delay_us, value)
                axes.plot(x, y, dashes, color=colour, marker=marker, markersize=4, label=f"{name}, {qps:,.0f}/s")
        _log_axis(axes, [row.delay_us for row in rows], "delay (us)")
        axes.tick_params(axis="x", rotation=45)

    return _panels(
        draw,
        ("interrupts a request", lambda row: row.interrupts_per_request, False),
        ("thousand instructions", lambda row: row.instructions_per_request / 1e3, False),
        ("p50 (us)", lambda row: row.p50_us, True),
    )


@bayop_style()
def _waits(rows: Sequence[Row]) -> Figure:
    def draw(axes: Axes, value: Callable[[Row], float]) -> None:
        for wait, (colour, marker) in zip(WAITS, SERIES, strict=False):
            x, y = _medians([row for row in rows if row.wait == wait], lambda row: row.served_qps, value)
            axes.plot(x, y, color=colour, marker=marker, markersize=4, label=wait)
        axes.set_xscale("log")
        axes.set_xlabel("requests/s")

    return _panels(
        draw,
        ("interrupts a request", lambda row: row.interrupts_per_request, False),
        ("thousand instructions", lambda row: row.instructions_per_request / 1e3, True),
        ("p99 (us)", lambda row: row.p99_us, True),
    )


def _panels(
    draw: Callable[[Axes, Callable[[Row], float]], None], *panels: tuple[str, Callable[[Row], float], bool]
) -> Figure:
    """A panel for each of: its title, its value, and whether that has a logarithmic axis."""
    figure = Figure(figsize=(7.4, 3.2), layout="constrained")
    for axes, (title, value, is_log) in zip(figure.subplots(1, len(panels)), panels, strict=True):
        draw(axes, value)
        axes.set_title(title, loc="left")
        if is_log:
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0.0)
    _key(figure)
    return figure


def _medians(
    rows: Sequence[Row], at: Callable[[Row], float], value: Callable[[Row], float]
) -> tuple[Sequence[float], Sequence[float]]:
    """Medians over the machines of each delay and load."""
    groups: dict[tuple[int, float], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.delay_us, row.qps), []).append(row)
    points = sorted((median(map(at, own)), median(map(value, own))) for own in groups.values())
    return [x for x, _ in points], [y for _, y in points]


def _log_axis(axes: Axes, values: Sequence[float], label: str) -> None:
    axes.set_xscale("log")
    ticks = sorted(set(values))
    axes.set_xticks(ticks, [f"{number:,.0f}" for number in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(label)


def _key(figure: Figure, columns: int = 4) -> None:
    keys = {label: key for axes in figure.axes for key, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(keys.values(), keys.keys(), loc="outside lower center", ncols=min(columns, len(keys)))
