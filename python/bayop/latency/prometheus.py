"""A PromQL query as a source of latency: what a load balancer, a service mesh or a client library recorded.

    --latency 'prometheus:http://monitor:9090?query=histogram_quantile($quantile,
        sum by (le) (rate(envoy_cluster_upstream_rq_time_bucket{cluster="cache"}[$window])))&unit=ms'

`$quantile` stands for the SLO's quantile and `$window` for the length of the window that is measured, so that nothing
from before the setting was applied is counted. The query is evaluated when the window ends, with Prometheus' own
clock (HTTP API, "Instant queries").
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from string import Template
from time import monotonic
from typing import Final
from urllib.parse import unquote

from bayop.errors import InputError
from bayop.latency.base import GRACE_S, Latency, Vantage, Window, check_vantage
from bayop.latency.prometheus_api import Api, Sample
from bayop.slo import Slo
from bayop.units import convert

_OFTEN_S: Final = 1.0
"""While its window runs a query is never asked more often than this; nobody scrapes more often."""
_LOOKS: Final = 4
"""How often it is asked in a long window, its end included; most are scraped every 15 s."""
_LEAST_S: Final = 0.5
"""So long it may take to answer, however late we are ourselves on a machine that is busy."""

PREFIX: Final = "prometheus:"
"""What such a source begins with in `--latency`."""

_PARAMETERS: Final = ("query", "qps", "unit", "vantage", "token_file")
# Only a known parameter starts one: `?`, `&` and `=` are letters of PromQL's regular expressions and matchers too.
_SPLIT: Final = re.compile(rf"[?&]({'|'.join(_PARAMETERS)})=")
_EXAMPLE: Final = (
    "prometheus:http://HOST:9090?query=histogram_quantile($quantile, "
    "sum by (le) (rate(http_request_duration_seconds_bucket[$window])))"
)


@dataclass(frozen=True, slots=True)
class PromQuery:
    """What is asked, and what its answer means.

    Attributes:
        query: Gives the latency at the SLO's quantile.
        qps: Gives the requests/s; None to leave the load out.
        unit: Of the latency. Prometheus' convention is seconds.
        vantage: Where the metrics were taken. Clients, or what stands next to them, unless it is said otherwise.
    """

    query: str
    qps: str | None = None
    unit: str = "s"
    vantage: Vantage = Vantage.CLIENT


class PrometheusQuery:
    """Asks a Prometheus, or what speaks its HTTP API, at the end of every window.

    Args:
        api: The server.
        asked: The queries.
        slo: Whose quantiles are asked for, each by a query of its own.
    """

    def __init__(self, api: Api, asked: PromQuery, *, slo: Slo) -> None:
        self._api = api
        self._asked = asked
        self._slo = slo
        self._recent: Latency | None = None

    @classmethod
    def parse(cls, text: str, *, slo: Slo) -> PrometheusQuery:
        """Reads `http://HOST:9090?query=...`, with `&qps=`, `&unit=`, `&vantage=` and `&token_file=` as wanted.

        Raises:
            InputError: a parameter is missing, unknown or wrong; the metrics are the server's own; the token can't be
                read or would be sent in the clear; or the query has one quantile and the SLO several.
        """
        base, *rest = _SPLIT.split(text)
        given = dict(zip(rest[::2], map(unquote, rest[1::2]), strict=True))
        if len(given) < len(rest) // 2:
            raise InputError("a parameter must be given once", value=text)
        if "?" in base or "&" in base:
            raise InputError(
                wrong=f"a Prometheus source has no parameter {base!r}",
                value=base,
                hint=f"one of {', '.join(_PARAMETERS)}",
            )
        if not given.get("query"):
            raise InputError("a Prometheus source must have a query", value=text, hint=_EXAMPLE)
        token = given.pop("token_file", None)
        asked = PromQuery(
            query=given["query"],
            qps=given.get("qps"),
            unit=given.get("unit", "s"),
            vantage=_vantage(given.get("vantage", Vantage.CLIENT)),
        )
        convert(1.0, asked.unit, "us")
        for query in filter(None, (asked.query, asked.qps)):
            _fill(query, Window({}, 1.0), slo.quantile)
        if slo.also and _fill(asked.query, Window({}, 1.0), 0.5) == _fill(asked.query, Window({}, 1.0), 0.99):
            hint = "histogram_quantile($quantile, ...)"
            raise InputError(
                "a query for an SLO of several quantiles must have $quantile", value=asked.query, hint=hint
            )
        token_file = None if token is None else Path(token)
        api = _APIS.setdefault((base, token_file), Api(base, token_file=token_file))
        return cls(api, asked, slo=slo)

    def measure(self, window: Window, *, sleep: Callable[[float], None]) -> Latency:
        """Waits until the window is over and asks about it; meanwhile asks about as much of it as is over.

        Raises:
            InputError: Prometheus does not answer in time, or not with one positive number from this window.
        """
        self._recent = None
        began, look_s = monotonic(), max(window.duration_s / _LOOKS, _OFTEN_S)
        while (left_s := began + window.duration_s - monotonic()) > look_s and window.is_watched:
            sleep(look_s)
            with suppress(InputError):  # not scraped twice yet
                self._recent = self._seen(Window(window.setting, monotonic() - began), GRACE_S)
        sleep(max(left_s, 0.0))
        return self._seen(window, max(began + window.duration_s + GRACE_S - monotonic(), _LEAST_S))

    @property
    def asks_between_sleeps(self) -> bool:
        """While a window runs, it asks; nothing comes by itself."""
        return True

    def recent(self) -> Latency | None:
        """What the part of the window has shown that is over; None before two scrapes lie in it."""
        return self._recent

    def _seen(self, window: Window, within_s: float) -> Latency:
        asked, slo = self._asked, self._slo
        queries = {limit.quantity: _fill(asked.query, window, limit.quantile) for limit in slo.limits}
        if asked.qps is not None:
            queries["qps"] = _fill(asked.qps, window, slo.quantile)
        # Without a range in it, a query is answered with samples of up to five minutes ago.
        texts = [text for query in queries.values() for text in (query, f"timestamp({query})")]
        found = self._api.samples(texts, limit_s=within_s)
        samples = (sample or self._api.sample(text) for text, sample in zip(texts, found, strict=True))
        seen = {
            name: self._checked(query, window, next(samples), since=next(samples)) for name, query in queries.items()
        }
        quantities = {
            name: value if name == "qps" else convert(value, asked.unit, "us") for name, value in seen.items()
        }
        return Latency(quantities, asked.vantage)

    def _checked(self, query: str, window: Window, sample: Sample, *, since: Sample) -> float:
        """What a query has given, and the moment that it is of."""
        age_s = sample.time_s - since.value
        if not age_s <= window.duration_s:  # a NaN is no age either
            raise InputError(
                wrong=f"the newest sample is {age_s:.1f} s old and the window {window.duration_s:g} s long",
                value=f"{age_s:.1f} s old",
                place=self._api.place(query),
                hint="is the target still scraped, and twice within a window? If not, take longer ones",
            )
        if math.isnan(sample.value):
            raise InputError(
                wrong="Prometheus saw no requests in the window",
                value="NaN",
                place=self._api.place(query),
                hint="without requests there is no quantile; a rate needs two scrapes within the window",
            )
        if not 0.0 < sample.value < math.inf:
            raise InputError(
                "a latency or a load must be a positive number",
                value=sample.value,
                place=self._api.place(query),
                hint="+Inf: the histogram has no bucket above the SLO's limit" if sample.value == math.inf else None,
            )
        return sample.value


_APIS: Final[dict[tuple[str, Path | None], Api]] = {}
"""Each server once, so that services that it knows ask together."""


def _vantage(text: str) -> Vantage:
    try:
        vantage = Vantage(text)
    except ValueError:
        raise InputError(wrong=f"{text!r} is no vantage", value=text, hint=f"one of {', '.join(Vantage)}") from None
    return check_vantage(vantage, place="vantage")


def _fill(template: str, window: Window, quantile: float) -> str:
    """The query with the window and the quantile in it. PromQL has durations of whole ms."""
    names: Mapping[str, str] = {
        "window": f"{math.ceil(window.duration_s * 1000)}ms",
        "quantile": f"{quantile:.10g}",
    }
    try:
        return Template(template).substitute(names)
    except KeyError as error:
        raise InputError(
            wrong=f"${error.args[0]} means nothing in a query; it may have $quantile and $window",
            value=f"${error.args[0]}",
        ) from None
    except ValueError:
        raise InputError(
            "a dollar in a query must begin $quantile or $window", value=template, hint="$$ is a dollar"
        ) from None
