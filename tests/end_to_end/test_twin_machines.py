"""Machines with turbo and hyperthreads draw by default what was measured ([C])."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.markdown import replace_table
from bench.twin import machines
from bench.twin.tables import PAGE

ROOT = Path(__file__).parents[2]
POWER_BAR = 0.08
LOADS = {"node1": 25, "node3": 18}  # below saturation


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_default_power_is_within_the_bar_at_every_load_and_the_page_shows_it(data: Path) -> None:
    found = list(machines.series_of(data))
    for machine, loads in LOADS.items():
        assert sum(len(series.rows) for series in found if series.machine == machine) == loads
    for series in found:
        for row in series.rows:
            error = row.error("power_w")
            assert error is not None
            assert abs(error) <= POWER_BAR, f"{series.machine}, {series.os}, {row.cell.load:g}"
        for load in series.fitted:
            assert load in [row.cell.load for row in series.rows]
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    assert page == replace_table(page, "errors: machines", machines.table(found))
