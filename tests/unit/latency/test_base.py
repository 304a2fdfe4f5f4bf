from __future__ import annotations

import pytest

from bayop.errors import InputError
from bayop.latency.base import SEARCHABLE, Latency, Vantage, check_vantage


def test_what_sees_the_wait_before_the_interrupt_may_feed_a_search() -> None:
    assert [check_vantage(vantage, place="a source") for vantage in SEARCHABLE] == list(SEARCHABLE)


def test_the_server_alone_may_not_and_the_reason_is_told() -> None:
    assert set(Vantage) - set(SEARCHABLE) == {Vantage.SERVER}
    with pytest.raises(InputError, match="a search must be fed with what clients see") as caught:
        check_vantage(Vantage.SERVER, place="a source")
    assert "server+wait" in str(caught.value.hint)


@pytest.mark.parametrize("value", [0.0, -1.0, 5e-324, 1.7e308, float("inf"), float("nan")])
def test_a_number_that_no_service_shows_is_refused(value: float) -> None:
    with pytest.raises(InputError, match=r"a latency or a load must lie between 1e-6 and 1e12 \(qps\)"):
        Latency({"p99_us": 300.0, "qps": value}, Vantage.CLIENT)


def test_quantiles_are_in_their_order_but_for_a_tenth() -> None:
    Latency({"p99_us": 300.0, "p50_us": 320.0}, Vantage.CLIENT)
    with pytest.raises(InputError, match=r"0.3: a quantile must be at least as long as those below it \(p99_us\)") as e:
        Latency({"p99_us": 0.3, "p50_us": 120.0, "mean_us": 900.0}, Vantage.CLIENT)
    assert e.value.hint == "p50_us is 120: is one of them in another unit?"
