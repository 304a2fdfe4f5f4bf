from __future__ import annotations

import polars as pl
import pytest

from bayop.errors import InputError
from bayop.papers.claims.cells import (
    cheapest,
    default_cell,
    fixed_cells,
    instructions_per_request,
    least,
    uncapped_cell,
)

CELLS = pl.DataFrame(
    {
        "os": ["linux", "linux", "linux", "linux", "ebbrt"],
        "qps_offered": [1000.0] * 5,
        "rx_usecs": [None, 2.0, 50.0, 50.0, 50.0],
        "freq_mhz": [None, 2900.0, 1300.0, 1300.0, 1300.0],
        "cap_w": [None, None, None, 55.0, None],
        "power_w": [100.0, 120.0, 60.0, 50.0, 40.0],
        "p99_us": [100.0, 80.0, 300.0, 600.0, 200.0],
    }
)


def test_the_default_is_linux_left_alone() -> None:
    assert default_cell(CELLS, 1000.0)["power_w"] == 100.0
    with pytest.raises(InputError, match="without a default policy"):
        default_cell(CELLS, 2000.0)


def test_the_cheapest_meets_the_limit() -> None:
    assert fixed_cells(CELLS, "linux", 1000.0).height == 3
    assert cheapest(CELLS, "linux", 1000.0, quantile="p99_us", limit_us=500.0)["power_w"] == 60.0
    with pytest.raises(InputError, match="without a feasible setting"):
        cheapest(CELLS, "linux", 1000.0, quantile="p99_us", limit_us=50.0)


def test_the_least_of_a_quantity_and_one_setting() -> None:
    assert least(CELLS, "linux", 1000.0, "p99_us")["rx_usecs"] == 2.0
    assert uncapped_cell(CELLS, "linux", 1000.0, rx_usecs=50.0, freq_mhz=1300.0)["power_w"] == 60.0


def test_closed_loops_go_by_message_size() -> None:
    cells = CELLS.rename({"qps_offered": "message_bytes"})
    assert default_cell(cells, 1000.0)["power_w"] == 100.0


def test_instructions_are_those_of_the_window_that_counters_cover() -> None:
    cell = {"instructions": 6e6, "qps": 1000.0, "energy_window_s": 3.0, "duration_s": 6.0}
    assert instructions_per_request(cell) == pytest.approx(2000.0)
    del cell["energy_window_s"]
    assert instructions_per_request(cell) == pytest.approx(1000.0)
