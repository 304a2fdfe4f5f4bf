from __future__ import annotations

import time

import pytest

from bayop.errors import InputError
from bayop.latency.base import Vantage, Window
from bayop.latency.prometheus import PrometheusQuery
from bayop.slo import Slo
from bayop.testing.prometheus import Prometheus

BUCKETS = "sum by (le) (rate(request_duration_seconds_bucket[$window]))"
QUERY = f"histogram_quantile($quantile, {BUCKETS})"
WINDOW = Window({"nic.rx_usecs": 50}, 2.0)


def source(text: str, *, slo: str = "p99<500us") -> PrometheusQuery:
    return PrometheusQuery.parse(text, slo=Slo.parse(slo))


def refused(text: str) -> InputError:
    with pytest.raises(InputError) as caught:
        source(text)
    return caught.value


@pytest.mark.parametrize(
    ("slo", "quantity", "latency_us"), [("p99<1ms", "p99_us", 500.0), ("p95<1ms", "p95_us", 366.7)]
)
def test_the_quantile_is_the_slos(prometheus: Prometheus, slo: str, quantity: str, latency_us: float) -> None:
    asked = f"{prometheus.url}?query={QUERY}&qps=sum(rate(request_duration_seconds_count[$window]))"
    latency = source(asked, slo=slo).measure(WINDOW, sleep=time.sleep)
    assert set(latency.quantities) == {quantity, "qps"}
    # Within a bucket, Prometheus interpolates linearly.
    assert latency.quantities[quantity] == pytest.approx(latency_us, rel=0.02)
    assert latency.quantities["qps"] == pytest.approx(2000.0, rel=0.25)
    assert latency.vantage is Vantage.CLIENT


def test_the_unit_and_the_vantage_can_be_said(prometheus: Prometheus) -> None:
    query = QUERY.replace("$quantile", "0.5") + " * 1000"
    latency = source(f"{prometheus.url}?query={query}&unit=ms&vantage=probe").measure(WINDOW, sleep=time.sleep)
    assert latency.quantities["p99_us"] == pytest.approx(100.0, rel=0.02)
    assert latency.vantage is Vantage.PROBE


def test_it_waits_for_the_window_that_begins_now(prometheus: Prometheus) -> None:
    waited: list[float] = []

    def sleep(duration_s: float) -> None:
        waited.append(duration_s)
        time.sleep(duration_s)

    source(f"{prometheus.url}?query={QUERY}").measure(WINDOW, sleep=sleep)
    assert sum(waited) >= WINDOW.duration_s


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("histogram_quantile(0.99, rate(request_duration_seconds_bucket[$window]))", "one series, but got '2 series'"),
        ("histogram_quantile(0.99, rate(idle_duration_seconds_bucket[$window]))", "has requests in Prometheus"),
        ("histogram_quantile(0.99, rate(no_such_bucket[$window]))", "gives a number, but got 'no series'"),
        ("request_duration_seconds_bucket[$window]", "one number now, but got 'a matrix'"),
        ("0.5", "one number now, but got 'a scalar'"),
        ("vector(1) / 0", "positive number, but got inf"),
        ("vector(0) - 1", "positive number, but got -1.0"),
        ("rate(", "takes the query"),
    ],
)
def test_an_answer_that_is_no_latency_is_refused(prometheus: Prometheus, query: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        source(f"{prometheus.url}?query={query}").measure(WINDOW, sleep=time.sleep)
    assert said in caught.value.message
    assert prometheus.address in caught.value.message


def test_an_old_sample_is_refused(prometheus: Prometheus) -> None:
    query = 'request_duration_seconds_bucket{replica="a",le="+Inf"}'
    with pytest.raises(InputError, match="newest sample is from the window") as caught:
        source(f"{prometheus.url}?query={query}").measure(Window({}, 0.0001), sleep=time.sleep)
    assert "s old" in caught.value.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("http://h:9090", "has a query"),
        ("http://h:9090?query=", "has a query"),
        (f"ftp://h:9090?query={QUERY}", "has an address"),
        (f"h:9090?query={QUERY}", "has an address"),
        (f"http://h:99999?query={QUERY}", "has an address"),
        (f"http://me:secret@h:9090?query={QUERY}", "names no user"),
        (f"http://h:9090?query={QUERY}&query={QUERY}", "given once"),
        (f"http://h:9090?start=3&query={QUERY}", "parameter is known"),
        (f"http://h:9090?query={QUERY}&unit=MHz", "time is expected"),
        (f"http://h:9090?query={QUERY}&unit=lightyears", "unit is unknown"),
        (f"http://h:9090?query={QUERY}&vantage=moon", "vantage is known"),
        (f"http://h:9090?query={QUERY}&vantage=server", "what clients see"),
        (f"http://h:9090?query={QUERY}&token_file=/nonexistent", "not sent in the clear"),
        (f"https://h:9090?query={QUERY}&token_file=/nonexistent", "token can be read"),
        ("http://h:9090?query=rate(a[$windw])", "$quantile and $window, but got '$windw'"),
        ("http://h:9090?query=rate(a[$5m])", "begins $quantile or $window"),
    ],
)
def test_a_text_that_is_no_source_is_refused(text: str, said: str) -> None:
    error = refused(text)
    assert said in error.message
    assert "secret" not in error.message


def test_promql_keeps_its_own_letters() -> None:
    """`&`, `=`, `?` and `+` stand in matchers and expressions; only a known parameter ends a query."""
    text = 'http://h:9090?query=a{path=~"/x?b=1&c=2"} + 1 &unit=ms'
    assert source(text)._asked.query == 'a{path=~"/x?b=1&c=2"} + 1 '
