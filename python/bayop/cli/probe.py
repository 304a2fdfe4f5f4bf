"""`bayop probe`: what clients of a service see, from a few requests beside the production traffic."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any, Final, Self

from bayop.cli.flags import arguments
from bayop.cli.terminal.output import console, new_table, print_json
from bayop.errors import InputError
from bayop.latency.open_loop import BEYOND, QPS
from bayop.slo import quantile_name

if TYPE_CHECKING:
    from bayop.load.generator import Result
    from bayop.load.plan import Plan

EXAMPLE: Final = """\
  bayop probe memcached://server
  bayop probe redis://server:6380 --qps 500 --window 20s
  bayop probe http://server/health --json
  bayop tune --target agent:https://server:9617 --latency probe:memcached://server --load 200kqps
"""

WINDOW_S: Final = 10.0
"""How long one measurement takes."""

_MOST_QPS: Final = 2000.0
_CONNECTIONS: Final = 8
_WARMUP_S: Final = 0.2
_RECORDS: Final = 1000
_QUANTILES: Final = (0.5, 0.9, 0.95, 0.99, 0.999)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument("url", metavar="URL", help="memcached://HOST, redis://HOST or http://HOST/PATH, with a :PORT")
    parser.add_argument(
        "--qps",
        type=arguments.reader(_light_qps, "--qps"),
        default=QPS,
        metavar="QPS",
        help=f"requests/s beside the service's own (default: {QPS:g})",
    )
    parser.add_argument(
        "--window",
        type=arguments.reader(arguments.duration_s, "--window"),
        default=WINDOW_S,
        metavar="TIME",
        help=f"how long to measure (default: {WINDOW_S:g}s)",
    )
    parser.add_argument(
        "--connections",
        type=arguments.reader(arguments.whole_number(1, 1000), "--connections"),
        default=_CONNECTIONS,
        metavar="N",
        help=f"connections, which the NIC spreads over its queues (default: {_CONNECTIONS})",
    )
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Sends the requests and prints what they saw."""
    from bayop.load import generator

    plan = _plan(args)
    with _Load(plan) as load:
        result = generator.run(plan)
    if result.report.interrupted:
        raise KeyboardInterrupt
    if wrong := _failures(result):
        raise InputError(wrong=wrong, place=args.url, hint="; ".join(result.troubles) or None)
    window = window_of(result) | load.event
    if args.json:
        print_json(window)
    else:
        _show(window)
    return 0


class _Load:
    """What a server is asked meanwhile, by all of its clients, where it counts that itself."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.event: dict[str, float] = {}

    def __enter__(self) -> Self:
        self._before, self._start_s = self._answered(), time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        duration_s, after = time.monotonic() - self._start_s, self._answered()
        # A server that has begun anew meanwhile has counted less.
        if self._before is not None and after is not None and after > self._before:
            self.event = {"qps": (after - self._before) / duration_s}

    def _answered(self) -> int | None:
        from bayop.load.answered import answered

        return answered(self._plan.dialect, self._plan.servers[0])


def window_of(result: Result) -> dict[str, object]:
    """The window for programs: every quantile that ten requests lie beyond, each with its relative sd.

    A latency counts from the time when its request was sent, and not from when it should have been: so few requests
    never wait for one another, and how late this process woke up tells nothing about the server.
    """
    import numpy as np

    times_ns = np.frombuffer(result.report.samples(), dtype=np.uint64).reshape(-1, 3)
    latencies_us = (times_ns[:, 2] - times_ns[:, 1]) / 1e3
    event: dict[str, object] = {
        "event": "window",
        "vantage": "probe",
        "duration_s": result.duration_s,
        "requests": len(latencies_us),
    }
    relative_sd: dict[str, float] = {}
    for q in _QUANTILES:
        if len(latencies_us) * (1.0 - q) >= BEYOND:
            # A quantile's rank has a binomial distribution.
            sd = (q * (1.0 - q) / len(latencies_us)) ** 0.5
            low_us, quantile_us, high_us = np.quantile(latencies_us, [q - sd, q, q + sd])
            event[quantile_name(q)] = float(quantile_us)
            relative_sd[quantile_name(q)] = float((high_us - low_us) / 2.0 / quantile_us)
    return event | {"mean_us": float(latencies_us.mean()), "relative_sd": relative_sd}


def _failures(result: Result) -> str | None:
    """How many requests failed, and how; None where all were answered."""
    refused, lost, intended = result.counts["refused"], result.lost, result.counts["intended"]
    if refused and lost:
        return f"of the probe's {intended} requests {refused} were refused with an error, and {lost} had no answer"
    if refused:
        return f"{refused} of the probe's {intended} requests were refused with an error"
    if lost or not result.counts["answered"]:
        return f"{lost} of the probe's {intended} requests had no answer"
    return None


def _plan(args: argparse.Namespace) -> Plan:
    from bayop.load.http_request import HttpRequest
    from bayop.load.plan import PORTS, OpenLoop, Plan, Workload, default_method, with_ports
    from bayop.load.server_url import ServerUrl

    dialect, server, path = arguments.reader(ServerUrl.parse, "URL")(args.url)
    request = HttpRequest(method=default_method(dialect), path=path)
    return Plan(
        servers=with_ports([server], PORTS[dialect]),
        dialect=dialect,
        # Nothing is stored in somebody's production: keys that are not there are asked for.
        workload=Workload(records=_RECORDS, http=(request,)),
        schedule=OpenLoop.constant(args.qps),
        connections=args.connections,
        warmup_s=_WARMUP_S,
        duration_s=args.window,
        blocking=True,
        save_samples=True,
    )


def _light_qps(text: str) -> float:
    value = arguments.qps(text)
    if value > _MOST_QPS:
        raise InputError(
            f"a probe must send at most {_MOST_QPS:g} requests/s", value=text, hint="bayop load is for loading a server"
        )
    return value


def _show(window: dict[str, Any]) -> None:
    load = f"; the server answers {window['qps']:,.0f} requests/s" if "qps" in window else ""
    table = new_table(f"{window['requests']:,} requests in {window['duration_s']:g} s{load}")
    for column in ("quantile", "latency", "standard deviation"):
        table.add_column(column, justify="right")
    for q in _QUANTILES:
        name = quantile_name(q)
        if name in window:
            latency_us, sd = window[name], window["relative_sd"][name]
            table.add_row(f"p{q * 100:g}", f"{latency_us:,.1f} us", f"{latency_us * sd:,.1f} us")
    console().print(table)
