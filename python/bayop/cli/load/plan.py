"""The plan that the flags of `bayop load` make."""

from __future__ import annotations

import argparse
import sys
from bisect import bisect_left
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from bayop.cli.flags import arguments
from bayop.cli.load.combinations import check_combination
from bayop.errors import InputError, UnsupportedError

if TYPE_CHECKING:
    from bayop.load.http_request import HttpRequest
    from bayop.load.plan import Plan, Preset, Schedule, UntilInterval, Workload
    from bayop.load.sql_query import SqlQuery
    from bayop.load.tls import Tls

_MOST_REPLAYED: Final = 20_000_000
HOUR_S: Final = 60.0
WARMUP_S: Final = 1.0
DURATION_S: Final = 5.0


def plan_of(args: argparse.Namespace) -> Plan:
    """The plan that the flags ask for.

    Raises:
        InputError: flags contradict each other, one is missing, or a file or a value is no good.
    """
    from bayop.load.plan import PORTS, TLS_PORTS, Plan, with_ports

    check_combination(args)
    schedule, warmup_s, duration_s = _timed(args)
    return Plan(
        servers=with_ports(args.servers, (TLS_PORTS if args.tls else PORTS)[args.protocol]),
        dialect=args.protocol,
        tls=_tls(args),
        workload=_workload(args),
        schedule=schedule,
        threads=args.threads,
        connections=args.connections,
        depth=args.depth,
        warmup_s=warmup_s,
        duration_s=duration_s,
        timeout_s=args.timeout_s,
        blocking=args.blocking,
        save_samples=args.save is not None,
        until_interval=_until(args),
        seed=args.seed,
    )


def _tls(args: argparse.Namespace) -> Tls | None:
    from bayop.load.tls import tls_of

    if not args.tls:
        return None
    try:
        return tls_of(tls=True, authorities=None if args.insecure else args.authorities, insecure=args.insecure)
    except UnsupportedError as error:
        raise error.but(hint="--cacert FILE says who may have signed certificates; --insecure does not look") from error


def _workload(args: argparse.Namespace) -> Workload:
    from bayop.load.plan import STORES, Workload

    flags = {"key_size": args.keysize, "update": args.update} if args.protocol in STORES else {}
    flags["value_size"] = args.valuesize if args.protocol in {*STORES, "echo"} else None
    preset = _preset(args)
    base = preset.workload if preset else Workload()
    changes = {name: value for name, value in flags.items() if value is not None}
    asked = replace(base, http=_http(args), sql=_sql(args))
    return replace(asked, records=args.records, popularity=args.popularity, **changes)


def _preset(args: argparse.Namespace) -> Preset | None:
    """The pool whose records are asked for, of servers that have some."""
    from bayop.load.plan import PRESETS, STORES

    return PRESETS[args.workload] if args.workload and args.protocol in STORES else None


def _http(args: argparse.Namespace) -> tuple[HttpRequest, ...]:
    from bayop.load.bodies import read_bodies
    from bayop.load.http_request import HttpRequest
    from bayop.load.mix import read_requests
    from bayop.load.plan import HTTP, default_method

    if args.protocol not in HTTP:
        return (HttpRequest(),)
    method = args.method or default_method(args.protocol)
    if args.mix is not None:
        return read_requests(args.mix, args.protocol, method, args.headers)
    bodies = () if args.body is None else arguments.reader(read_bodies, "--body")(args.body)
    return (HttpRequest(method=method, path=args.path, headers=tuple(args.headers), bodies=bodies),)


def _sql(args: argparse.Namespace) -> SqlQuery:
    from bayop.load.mix import read_queries
    from bayop.load.sql_query import SqlQuery, SqlText, read_password

    if args.protocol != "postgresql":
        return SqlQuery()
    values = {"user": args.user, "database": args.database}
    changes: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
    if args.query is not None:
        changes["texts"] = (SqlText(text=args.query),)
    if args.mix is not None:
        changes["texts"] = read_queries(args.mix)
    if args.password_file is not None:
        changes["password"] = arguments.reader(read_password, "--password-file")(args.password_file)
    return SqlQuery(**changes)


def _timed(args: argparse.Namespace) -> tuple[Schedule, float, float]:
    """When requests are sent, and how long the warm-up and the measurement are, in s."""
    if args.replay:
        return _replay(args)
    warmup_s = WARMUP_S if args.warmup_s is None else args.warmup_s
    preset = _preset(args)
    gaps = args.gaps or (preset.gaps if preset else "exponential")
    if args.curve:
        return _curve(args, warmup_s, gaps)
    return _schedule(args, gaps), warmup_s, DURATION_S if args.duration_s is None else args.duration_s


def _schedule(args: argparse.Namespace, gaps: str) -> Schedule:
    """When requests are sent at a load that does not change."""
    from bayop.load.experiment import FIRST_QPS
    from bayop.load.plan import ClosedLoop, OpenLoop, ThinkingLoop

    if args.scan:
        return OpenLoop.constant(args.scan[0], gaps)
    if args.search:
        return OpenLoop.constant(args.qps or FIRST_QPS, gaps)
    if args.closed_loop or args.loadonly or args.qps == 0.0:
        return ClosedLoop() if args.think_time_s is None else ThinkingLoop(args.think_time_s, gaps)
    return OpenLoop.constant(args.qps, gaps)


def _curve(args: argparse.Namespace, warmup_s: float, gaps: str) -> tuple[Schedule, float, float]:
    """The warm-up has the load of the first hour."""
    from bayop.load.curve import LoadCurve
    from bayop.load.plan import OpenLoop, Piece

    curve = LoadCurve.load(args.curve)
    if args.peak is not None:
        curve = curve.scaled_to(args.peak)
    if args.hours is not None:
        curve = curve.first(args.hours)
    hour_s = HOUR_S if args.hour is None else args.hour
    pieces = tuple(Piece(hour_s, qps) for qps in curve.hourly_qps)
    warmup = (Piece(warmup_s, pieces[0].qps),) if warmup_s else ()
    return OpenLoop(warmup + pieces, gaps), warmup_s, hour_s * len(pieces)


def _replay(args: argparse.Namespace) -> tuple[Schedule, float, float]:
    """The whole trace is measured where no flag says otherwise, and people are told of what is not."""
    from bayop.load.plan import Replay
    from bayop.load.trace import length_s, read_arrivals

    times_s = read_arrivals(args.replay, _MOST_REPLAYED + 1)
    warmup_s, end_s = args.warmup_s or 0.0, length_s(times_s)
    if warmup_s >= end_s:
        raise InputError(f"a warm-up must be shorter than the trace ({end_s:g} s)", value=warmup_s, place="--warmup")
    if args.duration_s is not None:
        end_s = min(end_s, warmup_s + args.duration_s)
    first, end = bisect_left(times_s, warmup_s), bisect_left(times_s, end_s)
    if end > _MOST_REPLAYED:
        raise InputError(
            f"a replay must have at most {_MOST_REPLAYED:,} requests",
            value=args.replay.name,
            place="--replay",
            hint="a shorter --time",
        )
    apart = [f"{first:,} before them are warm-up"] if first else []
    if end < len(times_s):
        apart.append(f"what comes after {end_s:g} s is left out")
    if apart:
        least = "at least " if len(times_s) > _MOST_REPLAYED else ""
        whole = f"{least}{len(times_s):,} requests in {args.replay}"
        sys.stderr.write(f"{end - first:,} of {whole} are measured; {', and '.join(apart)}\n")
    return Replay(times_s[:end]), warmup_s, end_s - warmup_s


def _until(args: argparse.Namespace) -> UntilInterval | None:
    from bayop.load.plan import UntilInterval

    return None if args.until_interval is None else UntilInterval(args.quantile, args.until_interval)
