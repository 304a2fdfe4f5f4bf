"""A small, safe language for objectives: arithmetic over named quantities with units.

`power_w * max(p99_us / 500us, 1)` is such an expression. It has numbers (with a unit or bare), the names of measured
quantities, `+ - * / ^`, parentheses and the functions of `_FUNCTIONS`; nothing else exists, so nothing can be called,
looked up or executed. Dimensions are checked when the text is read: adding watts to microseconds is an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayop.errors import InputError
from bayop.units import base_value, dimension_of

Values: TypeAlias = float | NDArray[np.float64]

# Exponents of (second, joule, request); everything that is measured is a product of these.
Dimension: TypeAlias = tuple[float, float, float]

_DIMENSIONS: Final[dict[str, Dimension]] = {
    "ratio": (0, 0, 0),
    "time": (1, 0, 0),
    "frequency": (-1, 0, 0),
    "energy": (0, 1, 0),
    "power": (-1, 1, 0),
    "rate": (-1, 0, 1),
}
_PURE: Final = _DIMENSIONS["ratio"]

# Unit of each quantity that a target may measure, beside the latency quantiles p<digits>_us.
_QUANTITY_UNITS: Final[dict[str, str]] = {
    "power_w": "W",
    "energy_j": "J",
    "duration_s": "s",
    "qps": "qps",
    "utilization": "",
    "stolen": "",
    "service_cpu": "",
    "interrupts_per_s": "Hz",
    "net_rx_per_s": "Hz",
    "slo_us": "us",
}
_QUANTILE: Final = re.compile(r"p\d{1,5}_us")
_FUNCTIONS: Final[dict[str, tuple[int, Callable[..., Values]]]] = {
    "min": (2, np.minimum),
    "max": (2, np.maximum),
    "abs": (1, np.abs),
    "sqrt": (1, np.sqrt),
    "log": (1, np.log),
    "exp": (1, np.exp),
}
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?P<unit>[A-Za-zµ%]*)|(?P<name>[A-Za-z_][\w.]*)|(?P<op>[-+*/^(),]))"
)
_MAX_DEPTH: Final = 40
_MAX_TOKENS: Final = 200


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression.

    Attributes:
        text: As the user wrote it.
        names: The quantities that it reads.
    """

    text: str
    names: frozenset[str]
    _evaluate: Callable[[Mapping[str, Values]], Values]

    @classmethod
    def parse(cls, text: str) -> Expression:
        """Reads an expression.

        Raises:
            InputError: with the column, for a syntax error, an unknown name or function, or dimensions that don't fit.
        """
        parser = _Parser(text)
        node = parser.whole()
        if not parser.names - {"slo_us"}:
            raise InputError("an objective must name at least one measured quantity", value=text, hint=_names_hint())
        return cls(text=text, names=frozenset(parser.names), _evaluate=node.evaluate)

    def __call__(self, quantities: Mapping[str, Values]) -> Values:
        """The value in SI base units, for quantities in the unit that each name carries (scalars or arrays).

        Where arithmetic has no answer (`log` of a negative number, a division by zero) it is NaN or infinite.
        """
        with np.errstate(all="ignore"):
            return self._evaluate(quantities)


def is_quantity(name: str) -> bool:
    """Whether an expression may name this quantity: `power_w`, `utilization`, `p99_us`."""
    return name in _QUANTITY_UNITS or _QUANTILE.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class _Node:
    dimension: Dimension
    evaluate: Callable[[Mapping[str, Values]], Values]
    constant: float | None = None


class _Parser:
    """Precedence climbing: sum < product < sign < power < atom."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: set[str] = set()
        self._depth = 0
        self._tokens: list[tuple[str, str, int]] = []
        position, end = 0, len(text.rstrip())
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None or match.end() == position:
                at = end - len(text[position:end].lstrip())
                raise self._error("every character must have a meaning in an objective", at, value=text[at])
            if len(self._tokens) == _MAX_TOKENS:
                raise self._error(f"an objective must have at most {_MAX_TOKENS} words and signs", position)
            if match["number"] is not None:
                self._tokens.append(("number", match["number"] + " " + match["unit"], match.start("number")))
            elif match["name"] is not None:
                self._tokens.append(("name", match["name"], match.start("name")))
            else:
                self._tokens.append(("op", match["op"], match.start("op")))
            position = match.end()
        self._tokens.append(("end", "", end))
        self._next = 0

    def whole(self) -> _Node:
        node = self._sum()
        kind, token, at = self._peek()
        if kind != "end":
            raise self._error(f"there must be an operator before {token.strip()!r}", at)
        return node

    def _sum(self) -> _Node:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._error(f"an objective must nest at most {_MAX_DEPTH} parentheses", self._peek()[2])
        left = self._product()
        while (op := self._take("+", "-")) is not None:
            symbol, at = op
            right = self._product()
            if not _same(left.dimension, right.dimension):
                raise self._error(f"the two sides of {symbol!r} must have the same dimension", at)
            left = _binary(left.dimension, np.add if symbol == "+" else np.subtract, left, right)
        self._depth -= 1
        return left

    def _product(self) -> _Node:
        left = self._signed()
        while (op := self._take("*", "/")) is not None:
            right = self._signed()
            times = op[0] == "*"
            if not times and right.constant == 0.0:
                raise self._error("a divisor must not be zero", op[1])
            dimension = _combine(left.dimension, right.dimension, 1 if times else -1)
            left = _binary(dimension, np.multiply if times else np.divide, left, right)
        return left

    def _signed(self) -> _Node:
        negative = False
        while (op := self._take("+", "-")) is not None:
            negative ^= op[0] == "-"
        node = self._power()
        if not negative:
            return node
        constant = None if node.constant is None else -node.constant
        return _Node(node.dimension, lambda q: -node.evaluate(q), constant)

    def _power(self) -> _Node:
        base = self._atom()
        op = self._take("^")
        if op is None:
            return base
        sign = self._take("-")
        exponent = self._atom()
        if exponent.constant is None or exponent.dimension != _PURE:
            raise self._error("an exponent must be a plain number", op[1])
        power = -exponent.constant if sign else exponent.constant
        x, y, z = base.dimension
        return _Node((x * power, y * power, z * power), lambda q: np.power(base.evaluate(q), power))

    def _atom(self) -> _Node:
        kind, text, at = self._advance()
        if kind == "number":
            return self._number(text, at)
        if kind == "name":
            return self._call(text, at) if self._take("(") else self._quantity(text, at)
        if text == "(":
            node = self._sum()
            self._expect(")")
            return node
        raise self._error("there must be a number, a quantity or '(' here", at)

    def _number(self, token: str, at: int) -> _Node:
        number, _, unit = token.partition(" ")
        try:
            dimension = _DIMENSIONS[dimension_of(unit)] if unit else _PURE
            value = base_value(float(number), unit) if unit else float(number)
        except InputError as error:
            raise error.but(value=unit, place=_place(at)) from error
        if not math.isfinite(value):
            raise self._error("a number must be finite", at, value=number)
        return _Node(dimension, lambda _: value, value)

    def _quantity(self, name: str, at: int) -> _Node:
        unit = "us" if _QUANTILE.fullmatch(name) else _QUANTITY_UNITS.get(name)
        if unit is None:
            raise InputError(wrong=f"there is no quantity {name!r}", value=name, place=_place(at), hint=_names_hint())
        self.names.add(name)
        if not unit:
            return _Node(_PURE, lambda q: q[name])
        scale = base_value(1.0, unit)
        return _Node(_DIMENSIONS[dimension_of(unit)], lambda q: q[name] * scale)

    def _call(self, name: str, at: int) -> _Node:
        entry = _FUNCTIONS.get(name)
        if entry is None:
            hint = "functions: " + ", ".join(_FUNCTIONS)
            raise InputError(wrong=f"there is no function {name!r}", value=name, place=_place(at), hint=hint)
        arity, function = entry
        arguments = [self._sum()]
        while self._take(","):
            arguments.append(self._sum())
        self._expect(")")
        if len(arguments) != arity:
            raise self._error(f"{name} must have {arity} argument{'s' * (arity > 1)}", at, value=len(arguments))
        first = arguments[0].dimension
        if not all(_same(a.dimension, first) for a in arguments) or (
            name in {"log", "exp"} and not _same(first, _PURE)
        ):
            raise self._error(
                f"the arguments of {name} must have the right dimension",
                at,
                hint="divide by a unit first: p99_us / 1us",
            )
        dimension = (first[0] / 2, first[1] / 2, first[2] / 2) if name == "sqrt" else first
        return _Node(dimension, lambda q: function(*(a.evaluate(q) for a in arguments)))

    def _peek(self) -> tuple[str, str, int]:
        return self._tokens[self._next]

    def _advance(self) -> tuple[str, str, int]:
        token = self._tokens[self._next]
        self._next = min(self._next + 1, len(self._tokens) - 1)
        return token

    def _take(self, *operators: str) -> tuple[str, int] | None:
        kind, token, at = self._peek()
        if kind != "op" or token not in operators:
            return None
        self._advance()
        return token, at

    def _expect(self, operator: str) -> None:
        if self._take(operator) is None:
            raise self._error(f"there must be a {operator!r} here", self._peek()[2])

    def _error(self, rule: str, at: int, *, value: object = None, hint: str | None = None) -> InputError:
        return InputError(
            rule,
            value=value if value is not None else self.text,
            place=_place(at),
            hint=hint,
        )


def _place(at: int) -> str:
    """Where in an objective something stands."""
    return f"objective, column {at + 1}"


def _binary(dimension: Dimension, function: Callable[..., Values], left: _Node, right: _Node) -> _Node:
    return _Node(dimension, lambda q: function(left.evaluate(q), right.evaluate(q)))


def _combine(left: Dimension, right: Dimension, sign: int) -> Dimension:
    return (left[0] + sign * right[0], left[1] + sign * right[1], left[2] + sign * right[2])


def _same(left: Dimension, right: Dimension) -> bool:
    """Equal but for rounding: x^0.1 * x^0.2 has the dimension of x^0.3."""
    return all(math.isclose(a, b, abs_tol=1e-9) for a, b in zip(left, right, strict=True))


def _names_hint() -> str:
    return "quantities: " + ", ".join(_QUANTITY_UNITS) + " and latency quantiles such as p99_us"
