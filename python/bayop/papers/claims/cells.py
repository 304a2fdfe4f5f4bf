"""Questions to a table of cells, as `Evidence.measured`, `Evidence.simulated` and `Evidence.netpipe` hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayop.errors import InputError

if TYPE_CHECKING:
    import polars as pl

Cell = dict[str, float]

LEFT_ALONE: Final = "linux"
"""The system whose default policy everything is held against."""


def default_cell(cells: pl.DataFrame, load: float) -> Cell:
    """Linux left alone at a load (requests/s, or bytes of a message).

    Raises:
        InputError: it was not measured.
    """
    import polars as pl

    return _one(_at(cells, load).filter(pl.col("os") == LEFT_ALONE, pl.col("rx_usecs").is_null()), "a default policy")


def fixed_cells(cells: pl.DataFrame, os: str, load: float) -> pl.DataFrame:
    """The cells with a fixed ITR-delay and frequency on one system at a load."""
    import polars as pl

    return _at(cells, load).filter(pl.col("os") == os, pl.col("rx_usecs").is_not_null())


def cheapest(cells: pl.DataFrame, os: str, load: float, *, quantile: str, limit_us: float) -> Cell:
    """The fixed setting of least power whose median latency quantile is below a limit.

    Raises:
        InputError: none is.
    """
    import polars as pl

    return _one(fixed_cells(cells, os, load).filter(pl.col(quantile) < limit_us).sort("power_w"), "a feasible setting")


def least(cells: pl.DataFrame, os: str, load: float, quantity: str) -> Cell:
    """The fixed setting with the least of a quantity."""
    return _one(fixed_cells(cells, os, load).sort(quantity), "a fixed setting")


def uncapped_cell(cells: pl.DataFrame, os: str, load: float, *, rx_usecs: float, freq_mhz: float) -> Cell:
    """One fixed setting without a power cap."""
    import polars as pl

    rows = fixed_cells(cells, os, load)
    matches = rows.filter(pl.col("cap_w").is_null(), pl.col("rx_usecs") == rx_usecs, pl.col("freq_mhz") == freq_mhz)
    return _one(matches, f"rx_usecs {rx_usecs:g} at {freq_mhz:g} MHz")


def instructions_per_request(cell: Cell) -> float:
    """Retired instructions for each answered request, of all cores."""
    return cell["instructions"] / (cell["qps"] * (cell.get("energy_window_s") or cell["duration_s"]))


def _at(cells: pl.DataFrame, load: float) -> pl.DataFrame:
    import polars as pl

    column = "message_bytes" if "message_bytes" in cells.columns else "qps_offered"
    return cells.filter(pl.col(column) == load)


def _one(cells: pl.DataFrame, what: str) -> Cell:
    if cells.is_empty():
        raise InputError(
            wrong=f"the measurements that the claim is held against are without {what}", value=f"without {what}"
        )
    return cells.row(0, named=True)
