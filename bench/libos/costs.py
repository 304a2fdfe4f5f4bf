"""What windows say together: a row for each service on each system under each load, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from bench.libos.count import Window


@dataclass(frozen=True)
class Cost:
    """What windows of one service on one system under one load say: medians, least and greatest."""

    app: str
    system: str
    connections: int
    qps: float
    instructions_per_request: float
    instructions_least: float
    instructions_greatest: float
    interrupts_per_request: float
    halts_per_request: float
    layers: Mapping[str, float]


def costs(windows: Sequence[Window]) -> Sequence[Cost]:
    """What the windows say, in their order."""
    rows: dict[tuple[str, str, int, float], list[Window]] = {}
    for window in windows:
        rows.setdefault((window.app, window.system, window.connections, window.qps), []).append(window)
    return [
        Cost(
            *row,
            median(window.instructions_per_request for window in found),
            min(window.instructions_per_request for window in found),
            max(window.instructions_per_request for window in found),
            median(window.interrupts_per_request for window in found),
            median(window.halts_per_request for window in found),
            {layer: median(window.layers[layer] for window in found) for layer in found[0].layers},
        )
        for row, found in rows.items()
    ]


def table(cells: Sequence[Sequence[str]]) -> str:
    """Cells in Markdown."""
    header, *rows = cells
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows))


def cells(windows: Sequence[Window]) -> Sequence[Sequence[str]]:
    """What the windows say as a table: its header and its rows."""
    header = (
        *("app", "system", "connections", "requests/s"),
        *("instructions a request", "least to greatest", "interrupts a request", "sleeps a request"),
    )
    return [
        header,
        *(
            (
                *(cost.app, cost.system, f"{cost.connections:,}", f"{cost.qps:g}"),
                f"{cost.instructions_per_request:,.0f}",
                f"{cost.instructions_least:,.0f} to {cost.instructions_greatest:,.0f}",
                *(f"{cost.interrupts_per_request:.2f}", f"{cost.halts_per_request:.2f}"),
            )
            for cost in costs(windows)
        ),
    ]


def layer_cells(windows: Sequence[Window]) -> Sequence[Sequence[str]]:
    """Instructions by layer as a table, where they are told apart: its header and its rows."""
    rows = [cost for cost in costs(windows) if cost.layers]
    layers = list(dict.fromkeys(layer for cost in rows for layer in cost.layers))
    return [
        ("app", "system", "connections", "requests/s", *layers),
        *(
            (
                *(cost.app, cost.system, f"{cost.connections:,}", f"{cost.qps:g}"),
                *(f"{cost.layers.get(layer, 0.0):,.0f}" for layer in layers),
            )
            for cost in rows
        ),
    ]
