from __future__ import annotations

import subprocess
import sys

import pint
import pytest

from bayop.carbon.grid import Grid
from bayop.carbon.stack import Stack
from bayop.carbon.units import GRID, INTENSITY, quantity, registry


def test_a_unit_system_refuses_the_published_sum(stack: Stack, grid: Grid) -> None:
    per_second = grid.mean * stack.power
    with pytest.raises(pint.DimensionalityError):
        _ = stack.charged + per_second


def test_a_kwh_is_not_a_joule_and_carbon_is_no_other_mass(grid: Grid) -> None:
    assert grid.mean.to("mgCO2e/J").magnitude == pytest.approx(277.3 / 3600.0)
    with pytest.raises(pint.DimensionalityError):
        quantity(1.0, "gCO2e").to("g")


def test_requests_are_counted_and_do_not_cancel() -> None:
    """100 g/kWh at 36 W are 1 mg/s; 500 requests/s share it."""
    per_request = quantity(100.0, GRID) * quantity(36.0, "W") / quantity(500.0, "request/s")
    assert per_request.to(INTENSITY).magnitude == pytest.approx(1.0 / 500.0)
    with pytest.raises(pint.DimensionalityError):
        per_request.to("mgCO2e")


def test_the_registry_is_made_once_and_late() -> None:
    assert registry() is registry()
    code = "import sys, bayop.carbon.stack, bayop.carbon.notebook; sys.exit('pint' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
