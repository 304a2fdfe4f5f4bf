from __future__ import annotations

import time
from collections.abc import Mapping

import pytest
from tests.support.prometheus import Prometheus

from bayop.errors import InputError
from bayop.exchange import Exchange, Reply
from bayop.latency.base import Vantage, Window
from bayop.latency.prometheus import PrometheusQuery
from bayop.slo import Slo

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

    began = time.monotonic()
    source(f"{prometheus.url}?query={QUERY}").measure(WINDOW, sleep=sleep)
    # What asking takes meanwhile is no time to sleep; how long that is belongs to the machine.
    assert sum(waited) <= WINDOW.duration_s <= time.monotonic() - began


def test_all_that_is_asked_of_a_window_is_one_request(prometheus: Prometheus, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    ask = Exchange.ask

    def noted(self: Exchange, method: str, path: str, body: str, headers: Mapping[str, str]) -> Reply:
        asked.append(body)
        return ask(self, method, path, body, headers)

    monkeypatch.setattr(Exchange, "ask", noted)
    latency = source(f"{prometheus.url}?query=vector(0.0005)&qps=vector(7)").measure(Window({}, 0.5), sleep=time.sleep)
    assert latency.quantities == pytest.approx({"p99_us": 500.0, "qps": 7.0})
    assert len(asked) == 1


def test_it_is_asked_meanwhile_too(prometheus: Prometheus) -> None:
    asked = source(f"{prometheus.url}?query=vector(0.0005)")
    assert asked.recent() is None
    asked.measure(Window({}, 1.5), sleep=time.sleep)
    recent = asked.recent()
    assert recent is not None
    assert recent.quantities == pytest.approx({"p99_us": 500.0})


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("histogram_quantile(0.99, rate(request_duration_seconds_bucket[$window]))", "the query gives 2 series"),
        (
            "histogram_quantile(0.99, rate(idle_duration_seconds_bucket[$window]))",
            "Prometheus saw no requests in the window",
        ),
        ("histogram_quantile(0.99, rate(no_such_bucket[$window]))", "the query gives nothing"),
        ("request_duration_seconds_bucket[$window]", "the query gives a matrix"),
        ("0.5", "the query gives a scalar"),
        ("vector(1) / 0", "cannot use inf: a latency or a load must be a positive number"),
        ("vector(0) - 1", "cannot use -1.0: a latency or a load must be a positive number"),
        ("rate(", "Prometheus refuses the query"),
    ],
)
def test_an_answer_that_is_no_latency_is_refused(prometheus: Prometheus, query: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        source(f"{prometheus.url}?query={query}").measure(WINDOW, sleep=time.sleep)
    assert said in caught.value.message
    assert prometheus.address in caught.value.message


def test_an_old_sample_is_refused(prometheus: Prometheus) -> None:
    query = 'request_duration_seconds_bucket{replica="a",le="+Inf"}'
    with pytest.raises(InputError, match=r"the newest sample is .* s old and the window 0\.0001 s long") as caught:
        source(f"{prometheus.url}?query={query}").measure(Window({}, 0.0001), sleep=time.sleep)
    assert "s old" in caught.value.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("http://h:9090", "cannot use 'http://h:9090': a Prometheus source must have a query"),
        ("http://h:9090?query=", "a Prometheus source must have a query"),
        (f"ftp://h:9090?query={QUERY}", "cannot use 'ftp://h:9090': a Prometheus must have an address"),
        (f"h:9090?query={QUERY}", "a Prometheus must have an address"),
        (f"http://h:99999?query={QUERY}", "a Prometheus must have an address"),
        (f"http://me:secret@h:9090?query={QUERY}", "the address of h names a user"),
        (f"http://h:9090?query={QUERY}&query={QUERY}", "given once"),
        (f"http://h:9090?start=3&query={QUERY}", "a Prometheus source has no parameter 'http://h:9090?start=3'"),
        (f"http://h:9090?query={QUERY}&unit=MHz", "cannot use '1MHz': it must be a time"),
        (f"http://h:9090?query={QUERY}&unit=lightyears", "there is no unit 'lightyears'"),
        (f"http://h:9090?query={QUERY}&vantage=moon", "'moon' is no vantage"),
        (f"http://h:9090?query={QUERY}&vantage=server", "what clients see"),
        (
            f"http://h:9090?query={QUERY}&token_file=/nonexistent",
            "cannot use 'http://h:9090': a token must not be sent in the clear",
        ),
        (
            f"https://h:9090?query={QUERY}&token_file=/nonexistent",
            "cannot read /nonexistent: no such file (token_file)",
        ),
        ("http://h:9090?query=rate(a[$windw])", "$windw means nothing in a query; it may have $quantile and $window"),
        (
            "http://h:9090?query=rate(a[$5m])",
            "cannot use 'rate(a[$5m])': a dollar in a query must begin $quantile or $window",
        ),
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


def test_several_quantiles_are_asked_for_one_by_one(prometheus: Prometheus) -> None:
    latency = source(f"{prometheus.url}?query={QUERY}", slo="p99<1ms,p95<1ms").measure(WINDOW, sleep=time.sleep)
    assert latency.quantities["p99_us"] == pytest.approx(500.0, rel=0.02)
    assert latency.quantities["p95_us"] == pytest.approx(366.7, rel=0.02)


def test_a_query_of_one_quantile_is_none_of_several() -> None:
    with pytest.raises(InputError, match=r"must have \$quantile"):
        source("http://127.0.0.1:9?query=" + QUERY.replace("$quantile", "0.5"), slo="p99<1ms,p50<1ms")
