"""Every column of systor_cci.csv that follows from its other columns, recomputed."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from bayop.carbon.files import Entry, read_stacks
from bayop.carbon.grid import Grid
from bayop.carbon.intensity import Intensity, intensity
from bayop.carbon.notebook import GRID_MG_PER_J, NETWORK_J_PER_BYTE, notebook_intensity


@dataclass(frozen=True)
class Case:
    entry: Entry
    row: dict[str, str]

    def years(self, years: float) -> Intensity:
        return intensity(self.entry.stack, self.grid, years)

    def notebook(self, month: int | None = None) -> float:
        return notebook_intensity(self.entry.stack, power_w=self.entry.notebook_power_w, month=month)

    @cached_property
    def grid(self) -> Grid:
        assert self.entry.grid_g_per_kwh is not None
        return Grid((self.entry.grid_g_per_kwh,))


COLUMNS: dict[str, Callable[[Case], float]] = {
    "embodied_total_kg": lambda c: c.entry.stack.made_kg,
    "embodied_charged_kg": lambda c: c.entry.stack.charged_kg,
    "notebook_ci_mg_per_j": lambda _: GRID_MG_PER_J,
    "notebook_net_j_per_byte": lambda _: NETWORK_J_PER_BYTE,
    "cci_notebook_mg_per_request": lambda c: c.notebook(),
    "cci_notebook_month0_plot_mg_per_request": lambda c: c.notebook(0),
    "cci_notebook_month12_plot_mg_per_request": lambda c: c.notebook(12),
    "ci_correct_mg_per_j": lambda c: c.grid.mean_g_per_kwh / 3600.0,
    "operational_mg_per_request": lambda c: c.years(5).operational_mg,
    "embodied_3y_mg_per_request": lambda c: c.years(3).embodied_mg,
    "cci_units_fixed_no_network_3y_mg_per_request": lambda c: c.years(3).without_network_mg,
    "embodied_5y_mg_per_request": lambda c: c.years(5).embodied_mg,
    "cci_units_fixed_no_network_5y_mg_per_request": lambda c: c.years(5).without_network_mg,
    "network_linerate_2p7uJ_mg_per_request": lambda c: c.years(5).network_mg,
    "cci_units_fixed_with_network_5y_mg_per_request": lambda c: c.years(5).total_mg,
}
RATIOS = {
    "ratio_to_ebbrt_cci_notebook": "cci_notebook_mg_per_request",
    "ratio_to_ebbrt_cci_notebook_month0_plot": "cci_notebook_month0_plot_mg_per_request",
    "ratio_to_ebbrt_cci_notebook_month12_plot": "cci_notebook_month12_plot_mg_per_request",
    "ratio_to_ebbrt_cci_units_fixed_no_network_5y": "cci_units_fixed_no_network_5y_mg_per_request",
    "ratio_to_ebbrt_cci_units_fixed_with_network_5y": "cci_units_fixed_with_network_5y_mg_per_request",
}


@pytest.fixture(scope="module")
def cases(data: Path) -> list[Case]:
    path = data / "systor_cci.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [Case(entry, row) for entry, row in zip(read_stacks(path), rows, strict=True)]


@pytest.mark.parametrize("column", COLUMNS)
def test_every_column_follows(cases: list[Case], column: str) -> None:
    # Six digits are in the file, of CCIs four decimals.
    for case in cases:
        absolute = 5.1e-5 if column.startswith("cci_notebook") else 0.0
        assert COLUMNS[column](case) == pytest.approx(float(case.row[column]), rel=1.1e-5, abs=absolute)


@pytest.mark.parametrize("ratio", RATIOS)
def test_every_ratio_follows(cases: list[Case], ratio: str) -> None:
    # The file has ratios of what it prints: four decimals of the notebooks' numbers, all digits of the others.
    digits = 4 if "notebook" in ratio else 12

    def value(case: Case) -> float:
        return round(COLUMNS[RATIOS[ratio]](case), digits)

    for case in cases:
        (least,) = (
            value(c) for c in cases
            if c.row["app"] == case.row["app"] and (c.row["os"], c.row["node"]) == ("ebbrt", "node1")
        )  # fmt: skip
        assert value(case) / least == pytest.approx(float(case.row[ratio]), abs=5.1e-4)


def test_the_notebooks_own_printed_numbers_follow(cases: list[Case]) -> None:
    printed = {("memcached", "linux on node1"): 1.1718750308}
    for case in cases:
        stack = case.entry.stack
        if (stack.app, stack.name) in printed:
            assert round(case.notebook(), 10) == printed[stack.app, stack.name]


def test_only_silos_old_machine_has_another_power_in_the_notebook(cases: list[Case]) -> None:
    swapped = [
        (c.entry.stack.app, c.entry.stack.name) for c in cases if c.entry.notebook_power_w != c.entry.stack.power_w
    ]
    assert swapped == [("silo", "linux on node1"), ("silo", "ebbrt on node1")]
