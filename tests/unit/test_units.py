from __future__ import annotations

import pytest

from bayop.errors import InputError
from bayop.units import base_value, convert, dimension_of, format_quantity, parse_quantity, unit_of


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
    assert caught.value.rule == "a quantity is a number and a unit such as 50us"
    assert caught.value.value == text


@pytest.mark.parametrize("text", ["1e999us", "1e308h"])
def test_refuses_a_number_beyond_all_measure(text: str) -> None:
    with pytest.raises(InputError, match=f"a quantity is finite, but got '{text}'"):
        parse_quantity(text, "us")


def test_refuses_an_unknown_unit_and_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="the unit is unknown, but got 'k'") as caught:
        parse_quantity("600k", "qps")
    assert "kqps" in str(caught.value.hint)


def test_refuses_a_unit_of_another_dimension() -> None:
    with pytest.raises(InputError, match="a time is expected here, but got '5W'") as caught:
        parse_quantity("5W", "us")
    assert caught.value.hint == "write it in us"


def test_refuses_a_bare_number_where_a_guess_would_be_dangerous() -> None:
    with pytest.raises(InputError, match="the unit is missing, but got '500'") as caught:
        parse_quantity("500", "us", unit_required=True)
    assert caught.value.hint == "write it out, for example 500us"


def test_units_are_spelled_exactly() -> None:
    with pytest.raises(InputError, match="the unit is unknown"):
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
    assert format_quantity(1e-06, "W") == "0.000001W"
    assert format_quantity(-3e12, "Hz") == "-3000000000000Hz"
