from __future__ import annotations

import polars as pl
import pytest
from tests.support.tables import study_frame

from bayop.analysis.trade_off import TradeOff, trade_off_of
from bayop.slo import Slo


@pytest.mark.parametrize(("slo", "latency"), [("p99<500us", "p99_us"), ("p90<1ms", "p90_us"), ("p99.9<2ms", "p999_us")])
def test_an_open_loop_trades_the_slos_quantile_for_power(slo: str, latency: str) -> None:
    assert trade_off_of(study_frame(), Slo.parse(slo)) == TradeOff(latency, "power_w")


def test_a_closed_loop_trades_time_for_energy_whatever_the_slo() -> None:
    closed = study_frame().with_columns(message_bytes=pl.lit(64))
    assert trade_off_of(closed, Slo.parse("p99<500us")) == TradeOff("roundtrip_us", "energy_j")


def test_latency_comes_first() -> None:
    assert TradeOff(cost="power_w", latency="p99_us").quantities == ("p99_us", "power_w")
