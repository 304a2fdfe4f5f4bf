"""Whatever people type or files hold, it is read rightly or refused with an InputError; nothing else ever happens."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bayop.errors import InputError
from bayop.expression import Expression, is_quantity
from bayop.slo import Slo
from bayop.units import convert, format_quantity, parse_quantity

TIMES = ("ns", "us", "ms", "s", "min", "h")

# Text of the letters that these languages are made of finds more than text of any letters.
scraps = st.text(alphabet="p9.5<>=us msWJqkGHz%eE+-*/^(),_ \t\nµμ0127alogmxi__", max_size=30)
_WORDS = "power_w p99_us slo_us utilization max log sqrt 3 1e3 500us 2W ( ) , + - * / ^ % . __import__ 'os' lambda"
words = st.lists(st.sampled_from([*_WORDS.split(), " "]), max_size=15).map("".join)
texts = st.one_of(st.text(max_size=30), scraps, words)

T = TypeVar("T")


def read_or_refuse(read: Callable[[], T]) -> T | InputError:
    """What was read, or the error that refused it; every other exception is a bug and passes through."""
    try:
        return read()
    except InputError as error:
        return error


@given(texts)
def test_a_quantity_is_read_or_refused(text: str) -> None:
    value = read_or_refuse(lambda: parse_quantity(text, "us"))
    assert isinstance(value, InputError) or math.isfinite(value)


@given(st.floats(-1e12, 1e12), st.sampled_from(TIMES), st.sampled_from(TIMES))
def test_units_convert_there_and_back(value: float, unit: str, to: str) -> None:
    assert convert(convert(value, unit, to), to, unit) == pytest.approx(value)


@given(st.integers(-(10**9), 10**9), st.sampled_from(TIMES))
def test_what_is_written_is_read_again(value: int, unit: str) -> None:
    assert parse_quantity(format_quantity(value, unit), unit, unit_required=True) == value


@given(texts)
def test_an_slo_is_read_or_refused(text: str) -> None:
    slo = read_or_refuse(lambda: Slo.parse(text))
    if isinstance(slo, InputError):
        assert slo.hint
    else:
        assert Slo.parse(str(slo)) == slo


@given(st.integers(1, 99), st.integers(1, 10**7))
def test_an_slo_survives_being_written(percent: int, limit_us: int) -> None:
    slo = Slo.parse(f"p{percent}<{limit_us}us")
    assert slo.quantity == f"p{percent}_us"
    assert Slo.parse(str(slo)) == slo


@given(texts)
@example("__import__('os').system('x')")
@example("(" * 500)
@example("-" * 5000 + "power_w")
@example("power_w^" * 50 + "2")
def test_an_expression_is_read_or_refused_and_computes_a_number(text: str) -> None:
    expression = read_or_refuse(lambda: Expression.parse(text))
    if isinstance(expression, InputError):
        assert expression.message
        return
    assert all(is_quantity(name) for name in expression.names)
    value = expression(dict.fromkeys(expression.names, 2.0))
    assert isinstance(float(value), float)


def arithmetic(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.tuples(children, st.sampled_from(["+", "-", "*", "/"]), children)
    return st.one_of(
        pairs.map(lambda t: f"{t[0]} {t[1]} {t[2]}"),
        pairs.map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(st.sampled_from(["max", "min"]), children, children).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
        children.map(lambda c: f"-({c})"),
        st.tuples(children, st.sampled_from(["2", "3", "-1", "0.5"])).map(lambda t: f"({t[0]})^{t[1]}"),
    )


numbers = st.one_of(st.integers(0, 99).map(str), st.floats(0.01, 99).map(lambda x: f"{x:.3f}"), st.just("utilization"))


@given(st.recursive(numbers, arithmetic, max_leaves=12))
def test_arithmetic_is_that_of_python(text: str) -> None:
    expression = read_or_refuse(lambda: Expression.parse(text))
    if isinstance(expression, InputError):
        assert expression.rule in {
            "an objective must name at least one measured quantity",
            "a divisor must not be zero",
        }
        return
    utilization = np.float64(0.5)
    with np.errstate(all="ignore"):
        # The oracle is Python itself, over numpy's numbers so that x/0 is infinite in both.
        as_numpy = re.sub(r"(?<![\w.^-])(\d+(?:\.\d+)?)", r"float64(\1)", text).replace("^", "**")
        expected = eval(  # noqa: S307 -- the text was made above, from numbers and operators
            as_numpy, {"float64": np.float64, "utilization": utilization, "max": np.maximum, "min": np.minimum}
        )
        actual = float(expression({"utilization": 0.5}))
    assert actual == pytest.approx(float(expected), nan_ok=True)
