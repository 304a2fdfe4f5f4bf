from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pint
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayop.carbon.compare import compare
from bayop.carbon.files import Entry
from bayop.carbon.grid import Grid, read_grid
from bayop.carbon.intensity import intensity, intensity_by_month
from bayop.carbon.notebook import notebook_intensity
from bayop.carbon.stack import Stack
from bayop.carbon.units import quantity, registry
from bayop.errors import InputError

STACK = Stack(
    "new",
    "memcached",
    {"cpu": 15.1, "dram": 172.5, "ssd": 34.3},
    reused=False,
    power_w=236.8,
    qps=1.6e6,
    network_bytes_per_s=5e9,
    network_j_per_byte=2.7e-6,
)
GRID = Grid((277.3,))

positive = st.floats(1e-3, 1e6)


class TestUnits:
    def test_a_unit_system_refuses_the_published_sum(self) -> None:
        per_second = GRID.mean * STACK.power
        with pytest.raises(pint.DimensionalityError):
            _ = STACK.charged + per_second

    def test_a_kwh_is_not_a_joule_and_carbon_is_no_other_mass(self) -> None:
        assert GRID.mean.to("mgCO2e/J").magnitude == pytest.approx(277.3 / 3600.0)
        with pytest.raises(pint.DimensionalityError):
            quantity(1.0, "gCO2e").to("g")

    def test_the_registry_is_made_once_and_late(self) -> None:
        assert registry() is registry()
        code = "import sys, bayop.carbon.stack, bayop.carbon.notebook; sys.exit('pint' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class TestIntensity:
    def test_by_hand(self) -> None:
        found = intensity(STACK, GRID, 5.0)
        assert found.embodied_mg == pytest.approx(221.9e6 / (1.6e6 * 5 * 365 * 86400))
        assert found.operational_mg == pytest.approx(277.3e3 / 3.6e6 * 236.8 / 1.6e6)
        assert found.network_mg == pytest.approx(277.3e3 / 3.6e6 * 5e9 * 2.7e-6 / 1.6e6)
        assert found.total_mg == pytest.approx(found.embodied_mg + found.operational_mg + found.network_mg)

    def test_reuse_charges_nothing(self) -> None:
        reused = replace(STACK, reused=True)
        assert intensity(reused, GRID, 5.0).embodied_mg == 0.0
        assert reused.made == STACK.made

    @given(positive, positive, st.floats(0.1, 20.0))
    def test_scales_as_it_should(self, power_w: float, qps: float, years: float) -> None:
        stack = replace(STACK, power_w=power_w, qps=qps)
        found, twice = intensity(stack, GRID, years), intensity(stack, GRID, 2.0 * years)
        assert twice.embodied_mg == pytest.approx(found.embodied_mg / 2.0)
        assert twice.without_network_mg < found.without_network_mg
        greener = intensity(stack, Grid((277.3 / 2.0,)), years)
        assert greener.operational_mg == pytest.approx(found.operational_mg / 2.0)
        assert greener.embodied_mg == found.embodied_mg

    def test_the_last_month_is_the_lifetime(self) -> None:
        curve = intensity_by_month(STACK, GRID, range(1, 61))
        assert curve[-1].total_mg == pytest.approx(intensity(STACK, GRID, 5.0).total_mg)
        totals = [i.total_mg for i in curve]
        assert totals == sorted(totals, reverse=True)

    def test_the_notebooks_embodied_carbon_decays_from_the_start(self) -> None:
        whole = notebook_intensity(STACK)
        later = [notebook_intensity(STACK, month=month) for month in (0, 1, 200)]
        assert whole > later[0] > later[1]
        assert later[2] == pytest.approx(notebook_intensity(replace(STACK, reused=True)))

    def test_ratios_are_to_the_least_of_the_same_application(self) -> None:
        stacks = [STACK, replace(STACK, name="old", qps=0.8e6), replace(STACK, app="silo", qps=1e5)]
        found = compare([Entry(stack) for stack in stacks], lambda _: GRID, 5.0)
        assert [c.ratio for c in found] == pytest.approx([1.0, 2.0, 1.0])


class TestGrid:
    def test_a_series_repeats(self) -> None:
        grid = Grid((100.0, 300.0))
        assert grid.mean.magnitude == pytest.approx(200.0)
        assert [grid.mean_until(h).magnitude for h in (1.0, 2.0, 3.0, 2.5)] == pytest.approx([100, 200, 500 / 3, 180])

    @given(st.lists(st.floats(0.1, 5000.0), min_size=1, max_size=48), st.floats(0.1, 1000.0))
    def test_a_mean_lies_within_the_series(self, hourly: list[float], hours: float) -> None:
        found = Grid(tuple(hourly)).mean_until(hours).magnitude
        assert min(hourly) - 1e-6 <= found <= max(hourly) + 1e-6

    def test_reads_a_file(self, tmp_path: Path) -> None:
        path = tmp_path / "grid.csv"
        path.write_text("hour,gco2_per_kwh\n0,250\n1,310.5\n", encoding="utf-8")
        assert read_grid(path).hourly_g_per_kwh == (250.0, 310.5)

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("", "grid.csv:1"),
            ("hour,value\n0,250\n", "no gco2_per_kwh"),
            ("hour,gco2_per_kwh\n", "at least one hour"),
            ("hour,gco2_per_kwh\n0,250\n2,250\n", "grid.csv:3: hours follow"),
            ("hour,gco2_per_kwh\n0,0\n", "emits something"),
            ("hour,gco2_per_kwh\n0,nan\n", "grid.csv:2"),
            ("hour,gco2_per_kwh\n0,-1\n", "grid.csv:2"),
            ("hour,gco2_per_kwh\n0\n", "grid.csv:2: a carbon intensity is a number"),
            ("hour,gco2_per_kwh\n0,\x00\n", "grid.csv"),
        ],
    )
    def test_refuses(self, tmp_path: Path, text: str, said: str) -> None:
        path = tmp_path / "grid.csv"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError) as error:
            read_grid(path)
        assert said in error.value.message

    def test_refuses_what_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="can be read"):
            read_grid(tmp_path / "none.csv")
