from __future__ import annotations

import pytest

from bayop.errors import InputError
from bayop.slo import Slo, quantile_name, quantile_of


@pytest.mark.parametrize(
    ("text", "quantile", "limit_us", "quantity"),
    [
        ("p99<500us", 0.99, 500.0, "p99_us"),
        (" P99 <= 0.5 ms ", 0.99, 500.0, "p99_us"),
        ("p90<1ms", 0.90, 1000.0, "p90_us"),
        ("p50<0.1s", 0.50, 100_000.0, "p50_us"),
        ("p5<10us", 0.05, 10.0, "p5_us"),
        ("p99.9<2ms", 0.999, 2000.0, "p999_us"),
        ("p99.5<2ms", 0.995, 2000.0, "p995_us"),
        ("p99.999<2ms", 0.99999, 2000.0, "p99999_us"),
    ],
)
def test_reads_a_quantile_and_a_limit(text: str, quantile: float, limit_us: float, quantity: str) -> None:
    slo = Slo.parse(text)
    assert slo.quantile == pytest.approx(quantile)
    assert slo.limit_us == limit_us
    assert slo.quantity == quantity
    assert Slo.parse(str(slo)) == slo


@pytest.mark.parametrize(
    "text", ["", "p99", "500us", "p99>500us", "p99=500us", "q99<500us", "p999<5us", "p99<", "p<5us"]
)
def test_refuses_what_is_no_slo(text: str) -> None:
    with pytest.raises(InputError) as caught:
        Slo.parse(text)
    assert caught.value.rule == "an SLO must be a latency quantile and a limit"
    assert caught.value.value == text
    assert "p99<500us" in str(caught.value.hint)


def test_refuses_a_limit_without_a_unit() -> None:
    with pytest.raises(InputError) as caught:
        Slo.parse("p99<500")
    assert "must be a time with its unit" in str(caught.value)
    assert "p99<500us" in str(caught.value.hint)


@pytest.mark.parametrize("text", ["p99<5W", "p99<fast", "p99<nanus", "p99<5parsecs"])
def test_refuses_a_limit_that_is_no_time(text: str) -> None:
    with pytest.raises(InputError, match="must be a time with its unit") as caught:
        Slo.parse(text)
    assert text in str(caught.value)


@pytest.mark.parametrize("text", ["p99<0us", "p99<-5us"])
def test_refuses_a_limit_that_is_not_positive(text: str) -> None:
    with pytest.raises(InputError, match="an SLO's limit must be a positive time"):
        Slo.parse(text)


def test_refuses_p0() -> None:
    with pytest.raises(InputError, match="between p0 and p100"):
        Slo.parse("p0<5us")


def test_refuses_a_quantile_that_would_be_read_from_another_column() -> None:
    # p9.9 would be spelled p99_us.
    with pytest.raises(InputError, match="below p10 must be a whole number"):
        Slo.parse("p9.9<5us")


def test_the_limit_itself_is_a_breach() -> None:
    slo = Slo.parse("p99<500us")
    assert slo.met_by({"p99_us": 499.9})
    assert not slo.met_by({"p99_us": 500.0})


@pytest.mark.parametrize(
    ("name", "quantile"),
    [("p5_us", 0.05), ("p50_us", 0.5), ("p999_us", 0.999), ("p9999_us", 0.9999), ("p100_us", 1.0)],
)
def test_a_name_says_its_quantile(name: str, quantile: float) -> None:
    assert quantile_of(name) == pytest.approx(quantile)


@pytest.mark.parametrize("name", ["mean_us", "power_w", "p99", "p_us", "p99_ms"])
def test_other_names_say_none(name: str) -> None:
    assert quantile_of(name) is None


def test_quantiles_are_named_as_in_the_study_schema() -> None:
    assert [quantile_name(q) for q in (0.05, 0.5, 0.99, 0.999, 0.9999)] == [
        "p5_us",
        "p50_us",
        "p99_us",
        "p999_us",
        "p9999_us",
    ]


SEVERAL = "p99.9<2ms,p99<500us,p50<100us,qps>590000qps"


def test_several_limits_are_read_in_any_order_and_written_from_the_highest_quantile_on() -> None:
    slo = Slo.parse("p50<0.1ms, qps>=590K ,p99.9<2ms,p99<500us")
    assert slo == Slo.parse(SEVERAL) == Slo.parse(str(slo))
    assert str(slo) == SEVERAL
    assert (slo.quantity, slo.limit_us) == ("p999_us", 2000.0)
    assert slo.quantities == ("p999_us", "p99_us", "p50_us", "qps")
    assert slo.is_several


def test_meeting_several_is_meeting_each() -> None:
    measured = {"p99_us": 400.0, "p50_us": 90.0, "qps": 595e3}
    assert Slo.parse("p99<500us,p50<100us,qps>590k").met_by(measured)
    for change in ({"p99_us": 500.0}, {"p50_us": 100.0}, {"qps": 589e3}):
        assert not Slo.parse("p99<500us,p50<100us,qps>590k").met_by({**measured, **change})


def test_a_share_is_one_of_every_latency_limit() -> None:
    assert Slo.parse("p99<500us,p50<100us,qps>590k").scaled(0.9) == Slo.parse("p99<450us,p50<90us,qps>590k")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("p99<500us,p99<400us", "an SLO must limit each of its quantiles once"),
        ("p99<500us,", "an SLO must be a latency quantile and a limit"),
        ("qps>590k", "an SLO must limit a latency"),
        ("p99<500us,qps>1k,qps>2k", "an SLO must have one throughput"),
        ("p99<500us,qps>0", "an SLO's throughput must be a positive load"),
        ("p99<500us,qps<590k", "an SLO must be a latency quantile and a limit"),
    ],
)
def test_refuses_what_can_not_be_kept_together(text: str, rule: str) -> None:
    with pytest.raises(InputError) as caught:
        Slo.parse(text)
    assert caught.value.rule == rule


def test_where_one_limit_can_be_heeded_several_are_refused() -> None:
    assert Slo.single("p99<500us") == Slo.parse("p99<500us")
    for text in ("p99<500us,p50<100us", "p99<500us,qps>590k"):
        with pytest.raises(InputError, match="an SLO must be one latency limit here"):
            Slo.single(text)
