"""Prometheus' HTTP API, as far as one number is concerned (prometheus.io, "HTTP API", instant queries)."""

from __future__ import annotations

import http.client
import ipaddress
import math
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from bayop.errors import InputError, unreadable
from bayop.json_text import parse_object

TIMEOUT_S: Final = 5.0
"""How long a server may be silent."""

_MOST_BYTES: Final = 1 << 20


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
    """A server that speaks it.

    Args:
        url: Where it is: `http://monitor:9090`, with a path where one stands in front of `/api/v1`.
        token_file: Holds a bearer token; read for every query, since tokens are renewed.
        timeout_s: How long it may be silent.

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
        if token_file is not None and parts.scheme == "http" and not _is_loopback(host):
            raise InputError("a token must not be sent in the clear", value=url, hint="https://")
        self.url = f"{url.rstrip('/')}/api/v1/query"
        self._host = parts.netloc
        self._token_file = token_file
        self._timeout_s = timeout_s
        self._opener = _opener()
        self._headers()

    def place(self, query: str) -> str:
        """What errors call a query."""
        return f"prometheus {self._host}, {query}"

    def sample(self, query: str) -> Sample:
        """The one number that a query gives now.

        Raises:
            InputError: it can't be asked, the query is refused, or it gives nothing, several series or no numbers.
        """
        data = self._data(query)
        kind, series = data.get("resultType"), data.get("result")
        if kind != "vector" or not isinstance(series, list):
            raise InputError(
                "a query must give one number, as it is now",
                wrong=f"the query gives a {kind}",
                value=f"a {kind}",
                place=self.place(query),
                hint="an instant vector: a range such as [5m] belongs inside rate()",
            )
        only = self._only(query, series)
        try:
            time_s, value = map(float, only["value"])
        except (KeyError, TypeError, ValueError):
            raise self._garbage(str(only)) from None
        if not math.isfinite(time_s):
            raise self._garbage(str(only))
        return Sample(time_s, value)

    def _only(self, query: str, series: list[Any]) -> Any:  # noqa: ANN401 -- JSON that is not checked yet
        if not series:
            raise InputError(
                wrong="the query gives nothing",
                value="no series",
                place=self.place(query),
                hint="is the metric's name right? A rate needs two scrapes within the window: --window makes it longer",
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

    def _data(self, query: str) -> Mapping[str, object]:
        # Prometheus gives up too, a little earlier, and then says so.
        form = {"query": query, "timeout": f"{self._timeout_s * 900:.0f}ms"}
        request = urllib.request.Request(self.url, urlencode(form).encode(), self._headers())  # noqa: S310 -- http(s) only
        try:
            with self._opener.open(request, timeout=self._timeout_s) as response:
                body = response.read(_MOST_BYTES)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refused(query, error) from None
        except (OSError, http.client.HTTPException) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            raise InputError(
                wrong=f"Prometheus does not answer ({reason or type(error).__name__})", place=self.url
            ) from error
        answer = _object(body)
        data = answer.get("data") if answer.get("status") == "success" else None
        if not isinstance(data, dict):
            raise self._garbage(body[:80].decode("utf-8", "replace"))
        return data

    def _refused(self, query: str, error: urllib.error.HTTPError) -> InputError:
        """What Prometheus, or a proxy in front of it, says with an HTTP error."""
        try:
            said = _object(error.read(_MOST_BYTES)).get("error")
        except (OSError, http.client.HTTPException):
            said = None
        if error.code in (401, 403):
            return InputError(
                wrong=f"Prometheus does not let us in (HTTP {error.code})",
                value=error.code,
                place=self.url,
                hint="token_file=FILE",
            )
        if 300 <= error.code < 400:
            to = error.headers.get("Location")
            return InputError(
                wrong=f"Prometheus sends us elsewhere (HTTP {error.code})",
                value=error.code,
                place=self.url,
                hint=f"it points to {to}",
            )
        if said is None:
            return InputError(
                wrong=f"Prometheus answers a query with HTTP {error.code}", value=f"HTTP {error.code}", place=self.url
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


def _object(body: bytes) -> Mapping[str, object]:
    """A JSON object, empty when it is none."""
    try:
        return parse_object(body)
    except InputError:
        return {}


def _opener() -> urllib.request.OpenerDirector:
    """Speaks HTTP and HTTPS to the server that was named: through no proxy, and following no redirection."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPDefaultErrorHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
