"""What `bayop carbon` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table

from bayop.carbon.compare import Comparison
from bayop.carbon.intensity import PER_MILLION
from bayop.carbon.notebook import DEPARTURES
from bayop.cli.terminal.output import literal, new_table
from bayop.units import round_significant


def events(comparisons: Sequence[Comparison], lifetime_years: float) -> Iterator[dict[str, object]]:
    """One JSON object for each stack; masses in mg CO2e, per request."""
    for c in comparisons:
        yield {
            "event": "carbon",
            "app": c.stack.app,
            "stack": c.stack.name,
            "lifetime_years": lifetime_years,
            "grid_g_per_kwh": round_significant(c.grid.mean_g_per_kwh),
            "reused": c.stack.reused,
            "embodied_kg": round_significant(c.stack.made_kg),
            "charged_kg": round_significant(c.stack.charged_kg),
            "embodied_mg_per_request": round_significant(c.intensity.embodied_mg),
            "operational_mg_per_request": round_significant(c.intensity.operational_mg),
            "network_mg_per_request": round_significant(c.intensity.network_mg),
            "cci_mg_per_request": round_significant(c.intensity.total_mg),
            "cci_without_network_mg_per_request": round_significant(c.intensity.without_network_mg),
            "ratio": round_significant(c.ratio),
            "ratio_without_network": round_significant(c.server_ratio),
            "cci_as_published_mg_per_request": round_significant(c.notebook_mg),
            "ratio_as_published": round_significant(c.notebook_ratio),
        }


def tables(comparisons: Sequence[Comparison], lifetime_years: float) -> Iterator[Table | str]:
    """For each application its carbon by source and the server's part of it; of published machines what was printed."""
    for app in dict.fromkeys(c.stack.app for c in comparisons):
        mine = [c for c in comparisons if c.stack.app == app]
        grids = ", ".join(sorted({f"{c.grid.mean_g_per_kwh:g}" for c in mine}))
        yield f"[bold]{app}[/bold]: mg CO2e per million requests, over {lifetime_years:g} years at {grids} g/kWh"
        yield _table_of_sources(mine)
        by_authors = "; and published: mg per request by the authors' arithmetic" if _published(mine) else ""
        yield f"[bold]{app}[/bold]: without the network{by_authors}"
        yield _table_of_readings(mine)
    if _published(comparisons):
        yield "the published arithmetic departs from the units in three places:"
        for departure in DEPARTURES:
            yield f"  {departure}"


def _published(comparisons: Sequence[Comparison]) -> bool:
    return any(c.notebook_mg is not None for c in comparisons)


def _table_of_sources(comparisons: Sequence[Comparison]) -> Table:
    table = _new_table("embodied", "operational", "network", "CCI", "x least")
    for c in comparisons:
        of = c.intensity
        masses = (of.embodied_mg, of.operational_mg, of.network_mg, of.total_mg)
        table.add_row(literal(_name(c)), *(_per_million(mg) for mg in masses), f"{c.ratio:.2f}")
    return table


def _table_of_readings(comparisons: Sequence[Comparison]) -> Table:
    of_authors = ("published", "x least") if _published(comparisons) else ()
    table = _new_table("server's part", "x least", *of_authors)
    for c in comparisons:
        cells = [_per_million(c.intensity.without_network_mg), f"{c.server_ratio:.2f}"]
        if c.notebook_mg is not None:
            cells += [f"{c.notebook_mg:.4f}", f"{c.notebook_ratio:.2f}"]
        table.add_row(literal(_name(c)), *cells)
    return table


def _new_table(*headings: str) -> Table:
    table = new_table()
    table.add_column("stack")
    for heading in headings:
        table.add_column(heading, justify="right")
    return table


def _name(comparison: Comparison) -> str:
    return f"{comparison.stack.name}{' (reused)' if comparison.stack.reused else ''}"


def _per_million(mg: float) -> str:
    return f"{mg * PER_MILLION:.4g}"
