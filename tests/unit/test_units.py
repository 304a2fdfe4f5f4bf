from __future__ import annotations

from fractions import Fraction

import pytest

from bayop.errors import InputError
from bayop.units import (
    base_value,
    convert,
    dimension_of,
    format_in_column,
    format_qps,
    format_quantity,
    parse_quantity,
    positive,
    unit_of,
)


@pytest.mark.parametrize(
    ("text", "to", "value"),
    [
        ("50us", "us", 50.0),
        ("50 us", "us", 50.0),
        ("  0.5ms ", "us", 500.0),
        ("0.5µs", "us", 0.5),
        ("0.5\N{GREEK SMALL LETTER MU}s", "us", 0.5),
        ("2.1GHz", "MHz", 2100.0),
        ("120W", "W", 120.0),
        ("1e3mW", "W", 1.0),
        ("600kqps", "qps", 600_000.0),
        ("600000", "qps", 600_000.0),
        ("600krps", "qps", 600_000.0),
        ("600Kqps", "qps", 600_000.0),
        ("600 KQPS", "qps", 600_000.0),
        ("600k/s", "qps", 600_000.0),
        ("600000/s", "qps", 600_000.0),
        ("600k", "qps", 600_000.0),
        ("600K", "qps", 600_000.0),
        ("0.6M", "qps", 600_000.0),
        ("1h", "s", 3600.0),
        ("1Wh", "J", 3600.0),
        (".5", "us", 0.5),
        ("-4", "us", -4.0),
    ],
)
def test_reads_what_people_type(text: str, to: str, value: float) -> None:
    assert parse_quantity(text, to) == value


@pytest.mark.parametrize("text", ["", " ", "us", "fast", "1,5ms", "5us5", "0x10", "nan", "inf", "50 us us", "--5"])
def test_refuses_what_is_no_quantity(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_quantity(text, "us")
    assert caught.value.rule == "a quantity must be a number and a unit such as 50us"
    assert caught.value.value == text


@pytest.mark.parametrize("text", ["1e999us", "1e308h"])
def test_refuses_a_number_beyond_all_measure(text: str) -> None:
    with pytest.raises(InputError, match=f"cannot use '{text}': a quantity must be finite"):
        parse_quantity(text, "us")


def test_refuses_an_unknown_unit_and_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="there is no unit 'kg'") as caught:
        parse_quantity("600kg", "qps")
    assert "kqps" in str(caught.value.hint)


def test_refuses_a_unit_of_another_dimension() -> None:
    with pytest.raises(InputError, match="cannot use '5W': it must be a time") as caught:
        parse_quantity("5W", "us")
    assert caught.value.hint == "write it in us"


def test_refuses_a_bare_number_where_a_guess_would_be_dangerous() -> None:
    with pytest.raises(InputError, match="cannot use '500': a quantity must have a unit") as caught:
        parse_quantity("500", "us", unit_required=True)
    assert caught.value.hint == "write it out, for example 500us"


def test_units_are_spelled_exactly() -> None:
    with pytest.raises(InputError, match="there is no unit"):
        parse_quantity("50MS", "us")


@pytest.mark.parametrize(
    ("value", "unit", "to", "expected"), [(2.1, "GHz", "MHz", 2100.0), (0.1, "ms", "us", 100.0), (3, "us", "s", 3e-6)]
)
def test_conversion_keeps_round_values_exact(value: float, unit: str, to: str, expected: float) -> None:
    assert convert(value, unit, to) == expected


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("nic.rx_usecs", "us"),
        ("cpu.freq_mhz", "MHz"),
        ("power.cap_w", "W"),
        ("napi.gro_flush_timeout_us", "us"),
        ("p99_us", "us"),
        ("qps", "qps"),
        ("utilization", None),
        ("idle.governor", None),
    ],
)
def test_a_name_carries_its_unit(name: str, unit: str | None) -> None:
    assert unit_of(name) == unit


def test_a_unit_has_a_dimension_and_a_size() -> None:
    assert dimension_of("kWh") == "energy"
    assert base_value(1.0, "kWh") == 3.6e6


def test_formats_without_trailing_zeros() -> None:
    assert format_quantity(500.0, "us") == "500us"
    assert format_quantity(0.5, "us") == "0.5us"
    assert format_quantity(0.0, "us") == "0us"
    assert format_quantity(1e-06, "W") == "0.000001W"
    assert format_quantity(-3e12, "Hz") == "-3000000000000Hz"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (3_000_000, "us", "3s"),
        (1500, "us", "1.5ms"),
        (1000, "us", "1ms"),
        (1022, "us", "1022us"),
        (400, "us", "400us"),
        (0.05, "us", "50ns"),
        (0.25, "s", "250ms"),
        (-4000, "us", "-4ms"),
        (3600, "s", "3600s"),
        (2, "h", "2h"),
    ],
)
def test_a_time_comes_in_the_unit_in_which_it_is_shortest(value: float, unit: str, text: str) -> None:
    assert format_quantity(value, unit) == text
    assert parse_quantity(text, unit) == value


def test_digits_that_nobody_reads_are_left_out() -> None:
    assert format_quantity(116.23, "us", 3) == "116us"
    assert format_quantity(12_345.6, "us", 3) == "12.3ms"
    assert format_quantity(2_999_600.0, "us", 3) == "3s"


@pytest.mark.parametrize(
    ("value", "expected"), [(1100.0, "1100us"), (1634.0, "1630us"), (0.08124, "0.0812us"), (12_345.6, "12300us")]
)
def test_numbers_of_one_column_have_one_unit(value: float, expected: str) -> None:
    assert format_in_column(value, "us") == expected


def test_a_multiple_alone_is_a_load_and_nothing_else() -> None:
    for unit in ("us", "W", "MHz"):
        with pytest.raises(InputError, match="there is no unit"):
            parse_quantity("600k", unit)


def test_the_hint_lists_units_of_what_is_asked_for() -> None:
    with pytest.raises(InputError) as caught:
        parse_quantity("5fortnights", "s")
    assert caught.value.hint == "known units of time: ns, us, µs, ms, s, min, h"


@pytest.mark.parametrize(
    ("qps", "words"),
    [
        (5.0, "5"), (999.0, "999"), (1000.0, "1K"), (4_900.0, "4.9K"), (5e6, "5M"), (1.5e6, "1.5M"),
        (999_999.6, "1M"), (999.9996, "1K"),
    ],
)  # fmt: skip
def test_a_load_is_said_as_people_say_it(qps: float, words: str) -> None:
    assert format_qps(qps) == words


@pytest.mark.parametrize("value", [3, 2.5, Fraction(1, 3)])
def test_a_positive_number_is_one_of_any_kind(value: object) -> None:
    assert positive(value, "qps", "a load must be positive") == pytest.approx(float(value))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (0, None),
        (float("nan"), None),
        (10**400, None),
        (True, None),
        ("many", None),
        ("-5", None),
        ("1.5M", "in a program, write 1_500_000"),
    ],
)
def test_what_is_no_positive_number_is_refused_by_the_rule(value: object, hint: str | None) -> None:
    with pytest.raises(InputError, match="a load must be positive") as caught:
        positive(value, "qps", "a load must be positive")
    assert caught.value.hint == hint
