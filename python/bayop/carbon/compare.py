"""Stacks side by side: what a request costs each, with its units and as the authors of [C] compute it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bayop.carbon.files import Entry
from bayop.carbon.grid import Grid
from bayop.carbon.intensity import Intensity, intensity
from bayop.carbon.notebook import notebook_intensity
from bayop.carbon.stack import Stack


@dataclass(frozen=True, slots=True)
class Comparison:
    """One stack among those of its application.

    Attributes:
        stack: The stack.
        grid: The grid that it runs on.
        intensity: Carbon of a request over the lifetime.
        ratio: Its total over the least total of the same application.
        server_ratio: The same without the network.
        notebook_mg: "mg CO2/request" as the authors compute it, where the stack is one of theirs.
        notebook_ratio: That over the least of the same application.
    """

    stack: Stack
    grid: Grid
    intensity: Intensity
    ratio: float
    server_ratio: float
    notebook_mg: float | None
    notebook_ratio: float | None


def compare(entries: Sequence[Entry], grid_of: Callable[[Entry], Grid], lifetime_years: float) -> list[Comparison]:
    """The stacks in their order.

    Args:
        entries: What to compare.
        grid_of: The grid of each.
        lifetime_years: Over which making is spread.
    """
    grids = [grid_of(entry) for entry in entries]
    found = [intensity(entry.stack, grid, lifetime_years) for entry, grid in zip(entries, grids, strict=True)]
    notebook = [
        None if entry.notebook_power_w is None else notebook_intensity(entry.stack, power_w=entry.notebook_power_w)
        for entry in entries
    ]
    return [
        Comparison(
            stack=entry.stack,
            grid=grids[i],
            intensity=found[i],
            ratio=found[i].total_mg / min(found[j].total_mg for j in peers),
            server_ratio=found[i].without_network_mg / min(found[j].without_network_mg for j in peers),
            notebook_mg=notebook[i],
            notebook_ratio=(
                None
                if (own := notebook[i]) is None
                else own / min(mg for j in peers if (mg := notebook[j]) is not None)
            ),
        )
        for i, entry in enumerate(entries)
        for peers in [[j for j, other in enumerate(entries) if other.stack.app == entry.stack.app]]
    ]
