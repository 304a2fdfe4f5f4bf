from __future__ import annotations

import polars as pl
from tests.support.tables import study_frame

from bayop.analysis.cells import cells
from bayop.analysis.shapes import corner, v_minima
from bayop.analysis.trade_off import TradeOff

POWER = TradeOff("p99_us", "power_w")
DELAYS = (2, 10, 20, 40)


def sweep(shape: pl.Expr, sd: float = 0.001) -> pl.DataFrame:
    frame = study_frame(delays=DELAYS).with_columns(power_w=shape)
    return cells(frame.with_columns(pl.lit(sd).alias("relative_sd.power_w")), ["power_w"])


def test_a_v_has_its_point_inside() -> None:
    minima = v_minima(sweep(100 + (pl.col("asked.nic.rx_usecs") - 12).abs()), "power_w")
    assert minima["delay_us"].to_list() == [10.0] * 3
    assert minima["v"].all()
    assert minima["asked.cpu.freq_mhz"].to_list() == [1300.0, 2000.0, 2900.0]


def test_a_slope_is_no_v() -> None:
    minima = v_minima(sweep(100 + pl.col("asked.nic.rx_usecs")), "power_w")
    assert minima["delay_us"].to_list() == [2.0] * 3
    assert not minima["v"].any()


def test_a_dip_within_the_noise_is_no_v() -> None:
    dip = 100 + (pl.col("asked.nic.rx_usecs") - 12).abs() / 100
    assert v_minima(sweep(dip, sd=0.0001), "power_w")["v"].all()
    assert not v_minima(sweep(dip, sd=0.01), "power_w")["v"].any()


def test_without_noise_a_v_is_neither_claimed_nor_denied() -> None:
    frame = study_frame(delays=DELAYS)
    valley, slope = (100 + (pl.col("asked.nic.rx_usecs") - point).abs() for point in (12, 0))
    assert v_minima(cells(frame.with_columns(power_w=valley), ["power_w"]), "power_w")["v"].null_count() == 3
    assert v_minima(cells(frame.with_columns(power_w=slope), ["power_w"]), "power_w")["v"].to_list() == [False] * 3


def test_a_frequency_that_was_left_alone_is_a_line_too() -> None:
    alone = sweep(100 + (pl.col("asked.nic.rx_usecs") - 12).abs()).filter(pl.col("asked.cpu.freq_mhz") == 1300.0)
    minima = v_minima(alone.drop("asked.cpu.freq_mhz"), "power_w")
    assert minima.select("asked.cpu.freq_mhz", "delay_us", "v").rows() == [(None, 10.0, True)]


def test_two_delays_show_no_shape() -> None:
    assert v_minima(cells(study_frame(delays=(2, 50)), ["power_w"]), "power_w").is_empty()


def test_the_corner_of_an_l() -> None:
    frame = pl.DataFrame({"p99_us": [100.0, 110.0, 120.0, 500.0, 900.0], "power_w": [130.0, 100.0, 75.0, 72.0, 70.0]})
    assert corner(frame, POWER)["p99_us"].to_list() == [120.0]


def test_a_straight_front_has_no_corner() -> None:
    frame = pl.DataFrame({"p99_us": [1.0, 2.0, 3.0], "power_w": [3.0, 2.5, 1.0]})
    assert corner(frame, POWER).is_empty()
    assert corner(frame[:2], POWER).is_empty()
