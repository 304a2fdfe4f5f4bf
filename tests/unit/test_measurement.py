from __future__ import annotations

import math

import pytest

from bayop.errors import InputError
from bayop.measurement import Measurement


def test_gives_what_was_measured() -> None:
    measurement = Measurement({"power_w": 100.0}, relative_sd={"power_w": 0.003})
    assert measurement["power_w"] == 100.0
    assert measurement.get("p99_us") is None


def test_what_was_not_measured_is_an_error_that_lists_what_was() -> None:
    with pytest.raises(InputError, match="the target does not measure p99_us") as caught:
        Measurement({"power_w": 100.0, "qps": 3.0})["p99_us"]
    assert caught.value.hint == "it measures power_w, qps"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_refuses_a_placeholder(value: float) -> None:
    with pytest.raises(InputError, match=r"a measured quantity must be a finite number or absent \(p99_us\)"):
        Measurement({"p99_us": value})
