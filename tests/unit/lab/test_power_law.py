from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.power_law import CpuLoad, meter_power_w, zone_powers

loads = st.lists(st.builds(CpuLoad, busy_share=st.floats(0, 1), freq_mhz=st.floats(1300, 2900)), min_size=1, max_size=4)


@pytest.mark.parametrize(("freq_mhz", "power_w"), [(1300, 28.45), (2100, 42.05), (2900, 62.05)])
def test_the_meter_shows_20_w_and_a_square_of_the_frequency(freq_mhz: float, power_w: float) -> None:
    assert meter_power_w([freq_mhz, freq_mhz]) == pytest.approx(power_w)


def test_an_idle_machine_draws_what_does_not_depend_on_load() -> None:
    idle = zone_powers([CpuLoad(busy_share=0, freq_mhz=2900)] * 2)
    assert (idle.package_w, idle.core_w, idle.dram_w, idle.psys_w) == (9, 0, 3, 16)


@given(loads)
def test_summing_the_zones_counts_twice(cpus: list[CpuLoad]) -> None:
    powers = zone_powers(cpus)
    assert powers.psys_w == pytest.approx(powers.package_w + powers.dram_w + 4)
    assert powers.package_w + powers.core_w + powers.dram_w + powers.psys_w > 1.5 * powers.psys_w


@given(loads, st.floats(10, 60))
def test_a_limit_caps_the_package_through_its_cores(cpus: list[CpuLoad], limit_w: float) -> None:
    free, capped = zone_powers(cpus), zone_powers(cpus, limit_w=limit_w)
    assert capped.package_w == pytest.approx(min(free.package_w, limit_w))
    assert capped.dram_w == free.dram_w
    assert free.psys_w - capped.psys_w == pytest.approx(free.core_w - capped.core_w, abs=1e-9)
