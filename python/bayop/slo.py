"""The objective of a service, such as `p99<500us` (the papers say SLA): latency quantiles, and a throughput floor."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Protocol

from bayop.errors import InputError
from bayop.units import format_quantity, parse_quantity

_SLO = re.compile(r"\s*[pP](?P<digits>\d{1,2}(?:\.\d+)?)\s*<=?\s*(?P<limit>.*\S)\s*")
_FLOOR = re.compile(r"\s*qps\s*>=?\s*(?P<floor>.*\S)\s*")
_QUANTILE_NAME = re.compile(r"p(?P<digits>\d+)_us")
_HINT = "write a quantile, '<' and a limit with its unit: p99<500us, p90<0.5ms, p99.9<2ms"
_SEVERAL: Final = "several at once: p99<500us,p50<100us; a throughput floor beside them: p99<500us,qps>590k"

IN_ORDER: Final = 0.9
"""Quantiles of the same requests grow with their rank, but for so much: each may be rounded, estimated on its own, or
interpolated between settings. In another unit one is smaller by far."""

QPS: Final = "qps"
"""The quantity that a throughput floor is about."""


class Quantities(Protocol):
    """Measured numbers by name: a `Measurement`, or a dictionary."""

    def __getitem__(self, name: str, /) -> float:
        """The number of that name."""
        ...


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
    """A quantile of the latency that clients see must stay below a limit; and other quantiles, at the same time.

    Attributes:
        quantile: Share of requests that must be faster, in (0, 1): 0.99 for p99. Of several, the highest: what can
            look at one alone looks at it.
        limit_us: The limit, in us.
        also: What else has to be kept, highest quantile first, each without more of its own.
        least_qps: The throughput that has to be kept, in requests/s; None for any.

    Example:
        >>> from bayop import Slo
        >>> slo = Slo.parse("p99<0.5ms")
        >>> slo.quantity, slo.limit_us
        ('p99_us', 500.0)
        >>> slo.met_by({"p99_us": 480.0})
        True
        >>> Slo.parse("p50<100us,p99<500us").met_by({"p99_us": 480.0, "p50_us": 130.0})
        False
    """

    quantile: float
    limit_us: float
    also: tuple[Slo, ...] = ()
    least_qps: float | None = None

    def __post_init__(self) -> None:
        if not 0.0 < self.quantile < 1.0:
            raise InputError("an SLO's quantile must lie between p0 and p100", value=self.quantile, hint=_HINT)
        if "." in _percent(self.quantile) and self.quantile < 0.1:
            # p9.9 would be read from the column p99_us.
            raise InputError("an SLO's quantile below p10 must be a whole number", value=self.quantile, hint=_HINT)
        if not (math.isfinite(self.limit_us) and self.limit_us > 0.0):
            raise InputError("an SLO's limit must be a positive time", value=self.limit_us, hint=_HINT)
        if self.least_qps is not None and not (math.isfinite(self.least_qps) and self.least_qps > 0.0):
            raise InputError("an SLO's throughput must be a positive load", value=self.least_qps, hint=_SEVERAL)
        for higher, lower in zip(self.limits, self.limits[1:], strict=False):
            if not lower.quantile < higher.quantile or lower.also or lower.least_qps is not None:
                raise InputError("an SLO must limit each of its quantiles once", value=str(self), hint=_SEVERAL)

    @classmethod
    def parse(cls, text: str) -> Slo:
        """Reads `p99<500us`, or several with commas between, in any order: `p99<500us,p50<100us,qps>590k`.

        A latency must have a unit, because 500 of an unknown unit can cost an outage.

        Raises:
            InputError: the text is no SLO, has no unit, or has a quantile or the throughput twice.
        """
        floors = [match["floor"] for part in text.split(",") if (match := _FLOOR.fullmatch(part))]
        limits = [cls._limit(part, text) for part in text.split(",") if not _FLOOR.fullmatch(part)]
        if not limits:
            raise InputError("an SLO must limit a latency", value=text, hint=_SEVERAL)
        if len(floors) > 1:
            raise InputError("an SLO must have one throughput", value=text, hint=_SEVERAL)
        first, *others = sorted(limits, key=lambda limit: -limit.quantile)
        return replace(first, also=tuple(others), least_qps=parse_quantity(floors[0], "qps") if floors else None)

    @classmethod
    def single(cls, text: str) -> Slo:
        """Reads an SLO where only one limit can be heeded.

        Raises:
            InputError: the text is none, or has several.
        """
        slo = cls.parse(text)
        if slo.is_several:
            raise InputError("an SLO must be one latency limit here", value=text, hint="bayop tune keeps several")
        return slo

    @classmethod
    def _limit(cls, part: str, text: str) -> Slo:
        match = _SLO.fullmatch(part)
        if match is None:
            raise InputError("an SLO must be a latency quantile and a limit", value=text, hint=_HINT)
        try:
            limit_us = parse_quantity(match["limit"], "us", unit_required=True)
        except InputError as error:
            raise InputError("the limit of an SLO must be a time with its unit", value=text, hint=_HINT) from error
        return cls(quantile=float(match["digits"]) / 100.0, limit_us=limit_us)

    @property
    def quantity(self) -> str:
        """The name of the measured quantity that the SLO bounds: `p99_us`; of several, of the highest quantile."""
        return quantile_name(self.quantile)

    @property
    def limits(self) -> tuple[Slo, ...]:
        """Every latency limit, highest quantile first, each by its `quantity` and `limit_us`."""
        return (self, *self.also)

    @property
    def quantities(self) -> tuple[str, ...]:
        """All that has to be measured: the latency quantiles, highest first, and the throughput where it counts."""
        return (*(limit.quantity for limit in self.limits), *((QPS,) if self.least_qps is not None else ()))

    @property
    def is_several(self) -> bool:
        """Whether one latency limit is not all of it."""
        return bool(self.also) or self.least_qps is not None

    def met_by(self, quantities: Quantities) -> bool:
        """Whether measured quantities keep all of it."""
        if self.least_qps is not None and quantities[QPS] < self.least_qps:
            return False
        return all(quantities[limit.quantity] < limit.limit_us for limit in self.limits)

    def scaled(self, share: float) -> Slo:
        """The same with `share` of every latency limit."""
        return self.with_limits(limit.limit_us * share for limit in self.limits)

    def with_limits(self, limits_us: Iterable[float]) -> Slo:
        """The same with other latency limits, in the order of `limits`."""
        first, *others = limits_us
        also = tuple(replace(limit, limit_us=us) for limit, us in zip(self.also, others, strict=True))
        return replace(self, limit_us=first, also=also)

    def __str__(self) -> str:
        parts = [f"p{_percent(limit.quantile)}<{format_quantity(limit.limit_us, 'us')}" for limit in self.limits]
        return ",".join(parts if self.least_qps is None else [*parts, f"qps>{format_quantity(self.least_qps, 'qps')}"])
