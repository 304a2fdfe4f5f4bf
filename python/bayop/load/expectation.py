"""What a result must show to be good enough, such as `p99<500us` or `qps>95%`: latency limits and throughputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bayop.errors import InputError
from bayop.load.generator import Result
from bayop.slo import QPS, Slo
from bayop.units import format_quantity, parse_quantity

_THROUGHPUT: Final = re.compile(r"\s*qps\s*>=?\s*(?P<least>.*\S)\s*")
_HINT: Final = "for example p99<500us, qps>40k or qps>95%"


@dataclass(frozen=True, slots=True)
class Throughput:
    """A throughput that must be reached.

    Attributes:
        least: In requests/s, or as a share of the offered load.
        is_share: Whether it is a share.
    """

    least: float
    is_share: bool = False

    def least_qps(self, offered_qps: float | None) -> float:
        """The throughput in requests/s.

        Args:
            offered_qps: The load that was asked for; None where there was none.

        Raises:
            InputError: it is a share of a load that there is not.
        """
        if not self.is_share:
            return self.least
        if offered_qps is None:
            raise InputError("a share must be one of an offered load", value=str(self), hint="qps>40k")
        return self.least * offered_qps

    def __str__(self) -> str:
        least = format_quantity(self.least * 100.0, "%") if self.is_share else format_quantity(self.least, "qps")
        return f"qps>{least}"


Expectation = Slo | Throughput
"""One latency limit, or one throughput."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a result compares with one expectation.

    Attributes:
        expectation: What was expected, as people write it.
        quantity: The name of what is compared: `p99_us`, `qps`.
        limit: What it must stay below or reach, in the unit of its name.
        measured: What was measured; None when the quantile falls on requests that failed.
        is_met: Whether that is good enough.
    """

    expectation: str
    quantity: str
    limit: float
    measured: float | None
    is_met: bool


def parse_expectations(text: str) -> tuple[Expectation, ...]:
    """Reads expectations, which are written as an SLO is: `p99<500us`, `qps>40k`, `qps>95%`; several with commas.

    A throughput may stand alone, and be a share of the offered load.

    Raises:
        InputError: the text is something else.
    """
    return tuple(_parse(part) for part in text.split(","))


def _parse(text: str) -> Expectation:
    match = _THROUGHPUT.fullmatch(text)
    try:
        if match is None:
            return Slo.parse(text)
        is_share = match["least"].endswith("%")
        least = parse_quantity(match["least"], "%") / 100.0 if is_share else parse_quantity(match["least"], "qps")
    except InputError as error:
        raise error.but(hint=_HINT) from error
    if least <= 0.0:
        raise InputError("an expected throughput must be positive", value=text, hint=_HINT)
    return Throughput(least, is_share)


def judge(result: Result, expectations: Sequence[Expectation]) -> Iterator[Verdict]:
    """Compares a result with each expectation.

    A latency limit is compared with the estimate of its quantile, every failed request counted as too slow; a
    throughput with the good answers per second of the measurement.

    Raises:
        InputError: a share is expected of a load that was not offered.
    """
    for expected in expectations:
        if isinstance(expected, Throughput):
            least_qps, qps = expected.least_qps(result.offered_qps), result.achieved_qps
            yield Verdict(str(expected), QPS, least_qps, qps, is_met=qps >= least_qps)
        else:
            (quantile,) = result.quantiles([expected.quantile])
            met = result.meets(expected)
            yield Verdict(str(expected), expected.quantity, expected.limit_us, quantile.value_us, is_met=met)
