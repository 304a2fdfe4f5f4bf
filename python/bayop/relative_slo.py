"""An SLO with limits that are shares of what the default shows: `p99<1.2*default`."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.slo import QPS, Slo
from bayop.units import format_quantity

_TERM: Final = re.compile(r"(?P<what>[^<>]*[<>]=?)\s*(?P<factor>[0-9.]+)\s*\*\s*default\s*")
_UNITS: Final = {"<": "us", ">": "qps"}
_DIGITS: Final = 4
"""Significant digits of a limit that was computed."""


@dataclass(frozen=True, slots=True)
class RelativeSlo:
    """An SLO that becomes one with numbers when the default was measured.

    Attributes:
        text: As it was written.
        draft: The same for a default of 1 us and 1 request/s: its quantiles are known before anything is measured.

    Example:
        >>> from bayop import Measurement
        >>> from bayop.relative_slo import RelativeSlo
        >>> default = Measurement({"p99_us": 140.0})
        >>> str(RelativeSlo.parse("p99<1.2*default").against(default))
        'p99<168us'
    """

    text: str
    draft: Slo

    @classmethod
    def parse(cls, text: str) -> RelativeSlo:
        """Reads `p99<1.2*default`, also beside other limits: `p99<500us,p50<1.1*default,qps>0.98*default`.

        Raises:
            InputError: the text is no SLO, or has no positive number before `*default`.
        """
        try:
            return cls(text.strip(), _filled(text, None))
        except InputError as error:
            raise error.but(value=text) from error

    def against(self, default: Measurement | None) -> Slo:
        """The SLO with the numbers of a window of the default.

        Raises:
            InputError: the default was not measured whole, or does not show what the SLO names.
        """
        if default is None or default.censored:
            raise InputError(
                "a limit relative to the default must have a default that was measured",
                value=self.text,
                place="SLO",
                hint="write the limit itself, such as p99<500us",
            )
        return _filled(self.text, default)

    def __str__(self) -> str:
        return self.text


def parse_slo(text: str) -> Slo | RelativeSlo:
    """Reads an SLO with numbers, or one that is relative to the default.

    Raises:
        InputError: the text is no SLO.
    """
    return RelativeSlo.parse(text) if "default" in text else Slo.parse(text)


def slo_against(slo: Slo | RelativeSlo, default: Measurement | None) -> Slo:
    """The SLO with numbers, whether it had them or not.

    Raises:
        InputError: it is relative, and the default does not show what it names.
    """
    return slo if isinstance(slo, Slo) else slo.against(default)


def as_slo(slo: object, default: Measurement | None) -> Slo:
    """The SLO that a program gives, as one that is read already or as text, which may be relative to the default.

    Raises:
        InputError: it is neither, or the text is no SLO, or the default does not show what it names.
    """
    if isinstance(slo, Slo):
        return slo
    if not isinstance(slo, str):
        raise InputError("an SLO must be a text or a bayop.Slo", value=slo, hint="such as 'p99<500us'")
    return slo_against(parse_slo(slo), default)


def draft_of(slo: Slo | RelativeSlo) -> Slo:
    """What is known of an SLO before the default was measured: its quantiles, not yet every limit."""
    return slo if isinstance(slo, Slo) else slo.draft


def _filled(text: str, default: Measurement | None) -> Slo:
    """With the numbers of the default; those of None are all 1."""
    return Slo.parse(",".join(_term(part, text, default) for part in text.split(",")))


def _term(part: str, text: str, default: Measurement | None) -> str:
    if "default" not in part:
        return part
    match = _TERM.fullmatch(part)
    try:
        factor = float(match["factor"]) if match else math.nan
    except ValueError:
        factor = math.nan
    if match is None or not factor > 0.0:
        hint = "such as p99<1.2*default or qps>0.98*default"
        raise InputError(
            "a limit relative to the default must be a positive number times default", value=text, hint=hint
        )
    what, unit = match["what"], _UNITS[match["what"].strip("=")[-1]]
    name = QPS if unit == "qps" else Slo.parse(f"{what}1us").quantity
    value = 1.0 if default is None else default[name]
    return f"{what}{format_quantity(factor * value, unit, _DIGITS)}"
