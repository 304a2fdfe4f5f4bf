from __future__ import annotations

import pytest
from bench.twin.theory.frequency import long_service_ms, ondemand_mhz


def test_ondemand_settles_where_the_load_asks_for_the_frequency() -> None:
    for load in (0.0, 0.05, 0.3):
        freq_mhz = ondemand_mhz(load)
        assert freq_mhz == pytest.approx(1000.0 + 1000.0 * load * 1000.0 / freq_mhz)


def test_a_long_service_takes_half_of_work_and_period_or_less_when_it_comes_right_after_a_sample() -> None:
    # 26 ms; for the fifth of requests that load more than 0.8 of their first period 21 ms and half of 8 to 10.
    assert long_service_ms(42.0) == pytest.approx(0.8 * 26.0 + 0.2 * 25.5, rel=1e-4)
