from __future__ import annotations

import pytest
from tests.support.load_results import load_result

from bayop.errors import InputError
from bayop.load.expectation import Throughput, Verdict, judge, parse_expectations
from bayop.slo import Slo


@pytest.mark.parametrize(
    ("text", "expected", "written"),
    [
        ("p99<500us", (Slo.parse("p99<500us"),), "p99<500us"),
        ("p99<0.5ms, p50<100us", (Slo.parse("p99<500us"), Slo.parse("p50<100us")), "p99<500us,p50<100us"),
        ("qps>40k", (Throughput(40_000.0),), "qps>40000qps"),
        (" qps >= 95 % ", (Throughput(0.95, is_share=True),), "qps>95%"),
        ("p99.9<2ms,qps>1", (Slo.parse("p99.9<2ms"), Throughput(1.0)), "p99.9<2ms,qps>1qps"),
    ],
)
def test_reads_what_a_result_must_show(text: str, expected: tuple[object, ...], written: str) -> None:
    read = parse_expectations(text)
    assert read == expected
    assert ",".join(map(str, read)) == written
    assert parse_expectations(written) == read


@pytest.mark.parametrize("text", ["", "fast", "p99<500", "errors<1%", "qps<5", "qps>", "qps>5W", "p99<5ms,", "qps>0"])
def test_refuses_what_nothing_can_be_compared_with(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_expectations(text)
    assert caught.value.hint == "for example p99<500us, qps>40k or qps>95%"


def test_a_latency_is_compared_with_its_limit() -> None:
    result = load_result([100.0] * 97 + [480.0] * 3)
    met, missed = judge(result, parse_expectations("p99<500us,p99<450us"))
    assert met.measured == pytest.approx(480.0, rel=1e-3)
    assert met == Verdict("p99<500us", "p99_us", 500.0, met.measured, is_met=True)
    assert missed == Verdict("p99<450us", "p99_us", 450.0, met.measured, is_met=False)


def test_a_quantile_that_falls_on_lost_requests_misses_any_limit() -> None:
    (verdict,) = judge(load_result([100.0] * 90, failed=10), parse_expectations("p99<1h"))
    assert (verdict.measured, verdict.is_met) == (None, False)


@pytest.mark.parametrize(
    ("text", "least_qps", "is_met"),
    [("qps>900", 900.0, True), ("qps>901", 901.0, False), ("qps>90%", 900.0, True), ("qps>90.1%", 901.0, False)],
)
def test_a_throughput_is_compared_with_the_answers_per_second(text: str, least_qps: float, *, is_met: bool) -> None:
    result = load_result([100.0] * 90, offered_qps=1000.0)
    assert result.achieved_qps == 900.0
    (verdict,) = judge(result, parse_expectations(text))
    assert (verdict.quantity, verdict.measured, verdict.is_met) == ("qps", 900.0, is_met)
    assert verdict.limit == pytest.approx(least_qps)


def test_a_share_of_no_load_is_refused() -> None:
    with pytest.raises(InputError, match="cannot use 'qps>95%': a share must be one of an offered load"):
        list(judge(load_result([100.0], offered_qps=None), parse_expectations("qps>95%")))
