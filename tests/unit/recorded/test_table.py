from __future__ import annotations

import pytest

from bayop.recorded.table import Row


@pytest.mark.parametrize(
    ("rx_usecs", "freq_mhz", "is_default"),
    [(None, None, True), (0.0, None, False), (None, 2900.0, False), (50.0, 2900.0, False)],
)
def test_a_row_is_the_default_when_no_knob_was_turned(
    rx_usecs: float | None,
    freq_mhz: float | None,
    is_default: bool,  # noqa: FBT001
) -> None:
    assert Row("linux", 1000.0, rx_usecs, freq_mhz, {"power_w": 100.0}).is_default is is_default
