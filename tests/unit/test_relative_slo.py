from __future__ import annotations

import pytest

from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.relative_slo import RelativeSlo, draft_of, parse_slo, slo_against
from bayop.slo import Slo

DEFAULT = Measurement({"p99_us": 139.04, "p50_us": 62.0, "qps": 600_000.0})


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("p99<1.2*default", "p99<166.8us"),
        (" P99 <= 1.2 * default ", "p99<166.8us"),
        ("p99<500us,p50<1.5*default", "p99<500us,p50<93us"),
        ("p50<1.5*default,p99<2*default,qps>=0.98*default", "p99<278.1us,p50<93us,qps>588000qps"),
    ],
)
def test_limits_are_shares_of_what_the_default_shows(text: str, numbers: str) -> None:
    slo = parse_slo(text)
    assert isinstance(slo, RelativeSlo)
    assert slo_against(slo, DEFAULT) == Slo.parse(numbers)
    assert draft_of(slo).quantities == Slo.parse(numbers).quantities
    assert parse_slo(str(slo)) == slo


def test_an_slo_with_numbers_needs_no_default() -> None:
    slo = parse_slo("p99<500us,p50<100us")
    assert slo == slo_against(slo, None) == draft_of(slo) == Slo.parse("p99<500us,p50<100us")


@pytest.mark.parametrize("default", [None, Measurement({"p99_us": 100.0}, cut_short="it did harm")])
def test_a_default_that_was_not_measured_is_asked_for(default: Measurement | None) -> None:
    with pytest.raises(InputError, match="must have a default that was measured") as caught:
        RelativeSlo.parse("p99<1.2*default").against(default)
    assert caught.value.hint == "write the limit itself, such as p99<500us"


def test_a_default_must_show_what_is_relative_to_it() -> None:
    with pytest.raises(InputError, match="does not measure p90_us"):
        RelativeSlo.parse("p90<1.2*default").against(DEFAULT)


@pytest.mark.parametrize(
    "text", ["p99<default", "p99<x*default", "p99<0*default", "p99<1.2.3*default", "p99<2*defaults"]
)
def test_a_share_is_a_positive_number(text: str) -> None:
    with pytest.raises(InputError, match="must be a positive number times default") as caught:
        parse_slo(text)
    assert caught.value.value == text


@pytest.mark.parametrize("text", ["q99<2*default", "p99<1.2*default,p99<500us", "qps>0.9*default"])
def test_what_is_no_slo_is_none_relative_to_a_default(text: str) -> None:
    with pytest.raises(InputError, match="an SLO must"):
        parse_slo(text)
