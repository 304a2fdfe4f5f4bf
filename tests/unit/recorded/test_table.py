from __future__ import annotations

from bayop.recorded.table import Row


def test_a_row_is_the_default_when_no_knob_was_turned() -> None:
    assert Row("linux", 1000.0, {}, {"power_w": 100.0}).is_default
    assert not Row("linux", 1000.0, {"nic.rx_usecs": 0.0}, {"power_w": 100.0}).is_default
