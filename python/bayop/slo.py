"""The latency objective of a service, such as `p99<500us` (the papers say SLA)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from bayop.errors import InputError
from bayop.units import format_quantity, parse_quantity

_SLO = re.compile(r"\s*[pP](?P<digits>\d{1,2}(?:\.\d+)?)\s*<=?\s*(?P<limit>.*\S)\s*")
_QUANTILE_NAME = re.compile(r"p(?P<digits>\d+)_us")
_HINT = "write a quantile, '<' and a limit with its unit: p99<500us, p90<0.5ms, p99.9<2ms"


def quantile_name(quantile: float) -> str:
    """The field that holds a latency quantile: 0.99 -> `p99_us`, 0.999 -> `p999_us` (as in the study schema)."""
    return f"p{_percent(quantile)}_us".replace(".", "")


def quantile_of(name: str) -> float | None:
    """The quantile that a field holds, as `quantile_name` names it: `p99_us` -> 0.99; None for any other field.

    `p100_us`, the slowest request, is 1.
    """
    match = _QUANTILE_NAME.fullmatch(name)
    if match is None:
        return None
    return 1.0 if match["digits"] == "100" else float(f"{match['digits'][:2]}.{match['digits'][2:] or 0}") / 100.0


def _percent(quantile: float) -> str:
    return f"{quantile * 100:.10g}"


@dataclass(frozen=True, slots=True)
class Slo:
    """A quantile of the latency that clients see must stay below a limit.

    Attributes:
        quantile: Share of requests that must be faster, in (0, 1): 0.99 for p99.
        limit_us: The limit, in us.

    Example:
        >>> from bayop import Slo
        >>> slo = Slo.parse("p99<0.5ms")
        >>> slo.quantity, slo.limit_us
        ('p99_us', 500.0)
        >>> slo.met_by(480.0)
        True
    """

    quantile: float
    limit_us: float

    def __post_init__(self) -> None:
        if not 0.0 < self.quantile < 1.0:
            raise InputError("an SLO's quantile must lie between p0 and p100", value=self.quantile, hint=_HINT)
        if "." in _percent(self.quantile) and self.quantile < 0.1:
            # p9.9 would be read from the column p99_us.
            raise InputError("an SLO's quantile below p10 must be a whole number", value=self.quantile, hint=_HINT)
        if not (math.isfinite(self.limit_us) and self.limit_us > 0.0):
            raise InputError("an SLO's limit must be a positive time", value=self.limit_us, hint=_HINT)

    @classmethod
    def parse(cls, text: str) -> Slo:
        """Reads `p99<500us`; the unit is required, because 500 of an unknown unit can cost an outage.

        Raises:
            InputError: the text is no SLO, or has no unit.
        """
        match = _SLO.fullmatch(text)
        if match is None:
            raise InputError("an SLO must be a latency quantile and a limit", value=text, hint=_HINT)
        try:
            limit_us = parse_quantity(match["limit"], "us", unit_required=True)
        except InputError as error:
            raise InputError("the limit of an SLO must be a time with its unit", value=text, hint=_HINT) from error
        return cls(quantile=float(match["digits"]) / 100.0, limit_us=limit_us)

    @property
    def quantity(self) -> str:
        """The name of the measured quantity that the SLO bounds: `p99_us`."""
        return quantile_name(self.quantile)

    def met_by(self, latency_us: float) -> bool:
        """Whether a latency at this SLO's quantile meets it."""
        return latency_us < self.limit_us

    def __str__(self) -> str:
        return f"p{_percent(self.quantile)}<{format_quantity(self.limit_us, 'us')}"
