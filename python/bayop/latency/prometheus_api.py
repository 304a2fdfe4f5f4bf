"""Prometheus' HTTP API, as far as one number is concerned (prometheus.io, "HTTP API", instant queries)."""

from __future__ import annotations

import math
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import msgspec

from bayop.errors import InputError, reason, unreadable
from bayop.exchange import Exchange, Reply
from bayop.hosts import is_loopback
from bayop.json_text import decoder, parse_object
from bayop.latency.gathering import Gathering

TIMEOUT_S: Final = 5.0
"""How long a query may take."""

_MOST_BYTES: Final = 1 << 20
_MOST_QUERIES: Final = 256
"""So many queries are one request's worth."""
_MARK: Final = "bayop_query"
"""The label that says which of several queries a series answers."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One number.

    Attributes:
        time_s: When the query was evaluated, in s since 1970 on Prometheus' clock.
        value: The number; NaN and infinities are Prometheus' own.
    """

    time_s: float
    value: float


class Api:
    """A server that speaks it. Safe to use from several threads.

    Args:
        url: Where it is: `http://monitor:9090`, with a path where one stands in front of `/api/v1`.
        token_file: Holds a bearer token; read for every query, since tokens are renewed.
        timeout_s: How long a query may take.

    Attributes:
        url: Where queries go.

    Raises:
        InputError: the address is none, or the token can't be read or would be sent in the clear.
    """

    def __init__(self, url: str, *, token_file: Path | None = None, timeout_s: float = TIMEOUT_S) -> None:
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname, parts.port
        except ValueError as error:
            raise InputError(f"a Prometheus must have an address ({error})", value=url) from None
        if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
            raise InputError("a Prometheus must have an address", value=url, hint="http://HOST:9090")
        if parts.username is not None:
            raise InputError(
                wrong=f"the address of {host} names a user",
                place=host,
                hint="token_file=FILE, with a bearer token in it",
            )
        if token_file is not None and parts.scheme == "http" and not is_loopback(host):
            raise InputError("a token must not be sent in the clear", value=url, hint="https://")
        self.url = f"{url.rstrip('/')}/api/v1/query"
        self._parts, self._host, self._path = parts, parts.netloc, urlsplit(self.url).path
        self._token_file = token_file
        self._timeout_s = timeout_s
        self._headers()
        self._gathering: Gathering[str, Sample | None] = Gathering(self._together, most=_MOST_QUERIES)

    def place(self, query: str) -> str:
        """What errors call a query."""
        return f"prometheus {self._host}, {query}"

    def sample(self, query: str) -> Sample:
        """The one number that a query gives now.

        Raises:
            InputError: it can't be asked, the query is refused, or it gives nothing, several series or no numbers.
        """
        with self._exchange(self._timeout_s) as exchange:
            only = self._only(query, self._series(query, exchange, self._timeout_s))
        try:
            return _number(only)
        except (KeyError, TypeError, ValueError):
            raise self._garbage(str(only)) from None

    def samples(self, queries: Sequence[str], *, limit_s: float) -> Sequence[Sample | None]:
        """The one number that each query gives now; None where one does not, of which `sample` says why.

        All are asked in one request, with what other threads ask meanwhile.

        Args:
            queries: Some.
            limit_s: How long all of it may take, from now on.

        Raises:
            InputError: Prometheus does not answer.
        """
        try:
            return self._gathering.answers(queries, limit_s=limit_s)
        except TimeoutError as error:
            raise self._late(limit_s) from error

    def _together(self, queries: Sequence[str], limit_s: float) -> list[Sample | None]:
        marked = (f'label_replace({query}, "{_MARK}", "{n}", "", "")' for n, query in enumerate(queries))
        with self._exchange(limit_s) as exchange:
            reply = self._reply(" or ".join(marked), exchange, limit_s)
        found: dict[str, list[Sample]] = {}
        try:
            for entry in decoder(_Vector).decode(reply.body).data.result:
                found.setdefault(entry.metric[_MARK], []).append(Sample(entry.value[0], float(entry.value[1])))
        except (KeyError, ValueError, RecursionError):
            return [None] * len(queries)
        each = (found.get(str(n), []) for n in range(len(queries)))
        return [samples[0] if len(samples) == 1 else None for samples in each]

    def _exchange(self, limit_s: float) -> Exchange:
        return Exchange(self._connection(), limit_s=limit_s, most_bytes=_MOST_BYTES)

    def _connection(self) -> HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "https":
            return HTTPSConnection(host, port, context=_trusting())
        return HTTPConnection(host, port)

    def _series(self, query: str, exchange: Exchange, limit_s: float) -> list[Any]:
        reply = self._reply(query, exchange, limit_s)
        if not 200 <= reply.status < 300:
            raise self._refused(query, reply)
        answer = _object(reply.body)
        data = answer.get("data") if answer.get("status") == "success" else None
        if not isinstance(data, dict):
            raise self._garbage(reply.body[:80].decode("utf-8", "replace"))
        kind, series = data.get("resultType"), data.get("result")
        if kind != "vector" or not isinstance(series, list):
            raise InputError(
                "a query must give one number, as it is now",
                wrong=f"the query gives a {kind}",
                value=f"a {kind}",
                place=self.place(query),
                hint="an instant vector: a range such as [5m] belongs inside rate()",
            )
        return series

    def _only(self, query: str, series: list[Any]) -> Any:  # noqa: ANN401 -- JSON that is not checked yet
        if not series:
            raise InputError(
                wrong="the query gives nothing",
                value="no series",
                place=self.place(query),
                hint="is the metric's name right? A rate needs two scrapes within the window, or a longer one",
            )
        if len(series) > 1:
            raise InputError(
                "a query must give one series",
                wrong=f"the query gives {len(series)} series",
                value=f"{len(series)} series",
                place=self.place(query),
                hint=f"aggregate them: sum by (le) (rate(...)); two of them are {series[0]} and {series[1]}",
            )
        return series[0]

    def _reply(self, query: str, exchange: Exchange, limit_s: float) -> Reply:
        # Prometheus gives up too, a little earlier, and then says so.
        form = urlencode({"query": query, "timeout": f"{self._timeout_s * 900:.0f}ms"})
        headers = {"Content-Type": "application/x-www-form-urlencoded", **self._headers()}
        try:
            return exchange.ask("POST", self._path, form, headers)
        except TimeoutError as error:
            raise self._late(limit_s) from error
        except ssl.SSLCertVerificationError as error:
            hint = "have this machine trust who signed it (update-ca-certificates), and name the host that it is for"
            raise InputError(
                wrong=f"Prometheus's certificate is not trusted: {error.verify_message}", place=self.url, hint=hint
            ) from error
        except (OSError, HTTPException) as error:
            raise InputError(wrong=f"Prometheus does not answer: {reason(error)}", place=self.url) from error
        except ValueError as error:  # a chunk of negative length, a host that is no name
            raise self._garbage(str(error)) from error

    def _late(self, limit_s: float) -> InputError:
        return InputError(wrong=f"Prometheus has not answered within {round(limit_s, 1):g} s", place=self.url)

    def _refused(self, query: str, reply: Reply) -> InputError:
        """What Prometheus, or a proxy in front of it, says with an HTTP error."""
        said = _object(reply.body).get("error")
        if reply.status in (401, 403):
            return InputError(
                wrong=f"Prometheus does not let us in (HTTP {reply.status})",
                value=reply.status,
                place=self.url,
                hint="token_file=FILE",
            )
        if 300 <= reply.status < 400:
            to = reply.headers.get("Location")
            return InputError(
                wrong=f"Prometheus sends us elsewhere (HTTP {reply.status})",
                value=reply.status,
                place=self.url,
                hint=f"it points to {to}",
            )
        if said is None:
            return InputError(
                wrong=f"Prometheus answers a query with HTTP {reply.status}",
                value=f"HTTP {reply.status}",
                place=self.url,
            )
        return InputError(wrong=f"Prometheus refuses the query ({said})", place=self.place(query))

    def _garbage(self, value: str) -> InputError:
        return InputError(wrong=f"what answers is no Prometheus: {value!r}", value=value, place=self.url)

    def _headers(self) -> dict[str, str]:
        if self._token_file is None:
            return {}
        try:
            token = self._token_file.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise unreadable(self._token_file, error, place="token_file") from error
        if not token or any(c.isspace() or not c.isprintable() for c in token):
            raise InputError(
                wrong="the token file does not hold one token and nothing else", place=str(self._token_file)
            )
        return {"Authorization": f"Bearer {token}"}


class _Series(msgspec.Struct):
    metric: dict[str, str]
    value: tuple[float, str]


class _Result(msgspec.Struct):
    result: list[_Series]


class _Vector(msgspec.Struct):
    """The answer to an instant query that gives a vector."""

    data: _Result


def _number(entry: Any) -> Sample:  # noqa: ANN401 -- JSON that is not checked yet
    """The number of a series.

    Raises:
        KeyError, TypeError, ValueError: it is none.
    """
    time_s, value = map(float, entry["value"])
    if not math.isfinite(time_s):
        raise ValueError(time_s)
    return Sample(time_s, value)


def _object(body: bytes) -> Mapping[str, object]:
    """A JSON object, empty when it is none."""
    try:
        return parse_object(body)
    except InputError:
        return {}


@cache
def _trusting() -> ssl.SSLContext:
    """Trusts whom this machine trusts; a thousand services need it once."""
    return ssl.create_default_context()
