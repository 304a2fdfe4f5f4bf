"""What the values of `bayop load`'s flags are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayop.cli.flags import arguments
from bayop.errors import InputError
from bayop.slo import Slo
from bayop.units import parse_quantity

if TYPE_CHECKING:
    from bayop.load.expectation import Expectation

_MOST_STEPS: Final = 1000


def protocol(text: str) -> str:
    """The name of a protocol, which argparse looks for among the known ones; that of one in TLS has two flags."""
    flags = _protocol_flags(text)
    if "--tls" in flags:
        raise InputError(wrong=f"there is no protocol {text!r}", value=text, hint=" ".join(flags))
    return text


def server(text: str) -> str:
    """A server: `HOST[:PORT]`, and no URL."""
    scheme, is_url, rest = text.partition("://")
    if is_url:
        host, _, path = rest.partition("/")
        flags = ["-s", host, *_protocol_flags(scheme), *(["--path", f"/{path}"] if path else [])]
        raise InputError("a server must be HOST[:PORT]", value=text, hint=" ".join(flags))
    return text


def _protocol_flags(scheme: str) -> list[str]:
    """What says that a server speaks the protocol of a URL; nothing where nobody here speaks it."""
    from bayop.load.plan import PORTS

    name, bare = scheme.lower(), scheme.lower().removesuffix("s")
    if name in PORTS:
        return ["--protocol", name]
    return ["--protocol", bare, "--tls"] if bare in PORTS else []


def seconds(text: str) -> float:
    """A time in s: `5`, `500ms`, `1h`."""
    value = parse_quantity(text, "s")
    if value < 0:
        raise InputError("a time must not be negative", value=text)
    return value


def load_or_peak(text: str) -> float:
    """A load in requests/s; 0 asks for the peak."""
    return 0.0 if text.strip() == "0" else arguments.qps(text)


def quantile(text: str) -> float:
    """A quantile (0-1): `p99`, `99`, `99.9`."""
    digits = text.strip().removeprefix("p").removeprefix("P")
    try:
        return Slo.parse(f"p{digits}<1us").quantile
    except InputError as error:
        raise InputError("a quantile must be written as p99, 99 or 99.9", value=text) from error


def weight(text: str) -> float:
    """A share relative to that of others, above 0."""
    value = parse_quantity(text, "")
    if value <= 0:
        raise InputError("a weight must be positive", value=text)
    return value


def scan(text: str) -> list[float]:
    """The loads of `MIN:MAX:STEP`, in requests/s."""
    parts = text.split(":")
    if len(parts) != 3:
        raise InputError("a scan must be MIN:MAX:STEP", value=text, hint="for example 10kqps:100kqps:10kqps")
    low, high, step = (arguments.qps(part) for part in parts)
    if low > high or (high - low) / step >= _MOST_STEPS:
        raise InputError(f"a scan must ascend, in fewer than {_MOST_STEPS} steps", value=text)
    return [low + index * step for index in range(int((high - low) / step * (1 + 1e-9)) + 1)]


def search(text: str) -> Slo:
    """An SLO: `99:500us`, or as it is written elsewhere."""
    if "<" in text:
        return Slo.single(text)
    percent, _, limit = text.removeprefix("p").partition(":")
    # mutilate's limit is a number of us.
    limit_us = f"{limit}us" if limit.strip().isdigit() else limit
    try:
        return Slo.parse(f"p{percent}<{limit_us}")
    except InputError as error:
        hint = "for example 99:500us or p99<500us"
        raise InputError("a search must be PERCENT:TIME or an SLO", value=text, hint=hint) from error


def expectations(text: str) -> tuple[Expectation, ...]:
    """What a result must show: `p99<500us`, `qps>95%`."""
    from bayop.load.expectation import parse_expectations

    return parse_expectations(text)


def distribution(text: str) -> str:
    """A distribution of sizes or gaps, as the generator names it."""
    from bayop.load.plan import check_distribution

    return check_distribution(text)


def header(text: str) -> str:
    """A header of HTTP requests: `Name: value`."""
    from bayop.load.http_request import check_header

    return check_header(text)


def popularity(text: str) -> str:
    """How often which record is asked for."""
    from bayop.load.plan import check_popularity

    return check_popularity(text)
