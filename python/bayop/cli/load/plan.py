"""The plan that the flags of `bayop load` make."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bayop.cli.flags import arguments
from bayop.errors import InputError

if TYPE_CHECKING:
    from bayop.load.http_request import HttpRequest
    from bayop.load.plan import Plan, Schedule, UntilInterval, Workload
    from bayop.load.sql_query import SqlQuery

SHAPES: Final = ("twitter", "twitter-cluster1", "twitter-cluster2")
_FIRST_QPS: Final = 1000.0
_MOST_REPLAYED: Final = 20_000_000


def plan_of(args: argparse.Namespace) -> Plan:
    """The plan that the flags ask for.

    Raises:
        InputError: flags contradict each other, or one is missing.
    """
    from bayop.load.plan import PORTS, TLS_PORTS, Plan, with_ports
    from bayop.load.tls import tls_of

    _check_company(args)
    schedule, duration_s = _schedule(args)
    if not args.server:
        raise InputError(wrong="no server is named", place="--server", hint="-s HOST[:PORT]")
    return Plan(
        servers=with_ports(args.server, (TLS_PORTS if args.tls else PORTS)[args.protocol]),
        dialect=args.protocol,
        tls=tls_of(tls=args.tls, cacert=args.cacert, insecure=args.insecure, call=lambda name: f"--{name}"),
        workload=_workload(args),
        schedule=schedule,
        threads=args.threads,
        connections=args.connections,
        depth=args.depth,
        warmup_s=args.warmup,
        duration_s=duration_s,
        timeout_s=args.timeout,
        blocking=args.blocking,
        save_samples=args.save is not None,
        until_interval=_until(args),
        seed=args.seed,
    )


def _check_company(args: argparse.Namespace) -> None:
    """Refuses flags that say nothing without another, which was left out.

    Raises:
        InputError: such a flag was given.
    """
    measuring = {"-Q": args.measure_qps, "-C": args.measure_connections, "-D": args.measure_depth}
    needs = {
        "--curve": {"--peak": args.peak, "--hours": args.hours},
        "--with-agent": measuring,
    }
    there = {"--curve": args.curve, "--with-agent": args.with_agent}
    for flag, others in needs.items():
        given = [other for other, value in others.items() if value is not None]
        if given and not there[flag]:
            wrong = f"{given[0]} was given without {flag}"
            raise InputError(
                f"{given[0]} must go with {flag}", wrong=wrong, place=given[0], hint=f"add {flag}, or leave it out"
            )
    if args.qps and args.scan:
        wrong = "both --qps and --scan were given"
        raise InputError("a scan must have its own loads", wrong=wrong, place="--qps", hint="leave out one of them")


def _workload(args: argparse.Namespace) -> Workload:
    from bayop.load.plan import PRESETS, Workload

    flags = {"key_size": args.keysize, "value_size": args.valuesize, "update": args.update}
    base = PRESETS[args.workload].workload if args.workload else Workload()
    changes = {name: value for name, value in flags.items() if value is not None}
    _check_mix(args)
    asked = replace(base, http=_http(args), sql=_sql(args))
    return replace(asked, records=args.records, popularity=args.popularity, **changes)


def _check_mix(args: argparse.Namespace) -> None:
    """Refuses what a file of requests says beside it.

    Raises:
        InputError: both say what is asked.
    """
    if args.mix is None:
        return
    from bayop.load.plan import HTTP

    if args.protocol not in {*HTTP, "postgresql"}:
        raise InputError(
            "a mix must be of HTTP requests or of PostgreSQL's queries",
            wrong=f"--mix was given with --protocol {args.protocol}",
            place="--mix",
            hint="--protocol http",
        )
    values = {"--path": args.path != "/", "--method": args.method, "--body": args.body, "--query": args.query}
    if given := [flag for flag, value in values.items() if value]:
        rule = "what is asked must stand in the file of --mix alone"
        raise InputError(rule, wrong=f"{given[0]} was given with --mix", place=given[0], hint="leave it out")


def _http(args: argparse.Namespace) -> tuple[HttpRequest, ...]:
    from bayop.load.bodies import read_bodies
    from bayop.load.http_request import HttpRequest
    from bayop.load.mix import read_requests
    from bayop.load.plan import HTTP, default_method

    values = {"--path": args.path != "/", "--header": args.header, "--method": args.method, "--body": args.body}
    given = [flag for flag, value in values.items() if value]
    _check_protocol(args, HTTP, given, "paths, headers, methods and bodies must be those of HTTP requests")
    method = args.method or default_method(args.protocol)
    if args.mix is not None and args.protocol in HTTP:
        return read_requests(args.mix, method, args.header)
    bodies = () if args.body is None else arguments.reader(read_bodies, "--body")(args.body)
    return (HttpRequest(method=method, path=args.path, headers=tuple(args.header), bodies=bodies),)


def _sql(args: argparse.Namespace) -> SqlQuery:
    from bayop.load.mix import read_queries
    from bayop.load.sql_query import SqlQuery, SqlText, read_password

    flags = {"texts": "--query", "user": "--user", "database": "--database", "password": "--password-file"}
    values = {"texts": args.query, "user": args.user, "database": args.database, "password": args.password_file}
    changes = {name: value for name, value in values.items() if value is not None}
    given = [flags[name] for name in changes]
    _check_protocol(args, ("postgresql",), given, "queries and who asks them must be PostgreSQL's")
    if args.query is not None:
        changes["texts"] = (SqlText(text=args.query),)
    if args.mix is not None and args.protocol == "postgresql":
        changes["texts"] = read_queries(args.mix)
    if args.password_file is not None:
        changes["password"] = arguments.reader(read_password, "--password-file")(args.password_file)
    return SqlQuery(**changes)


def _check_protocol(args: argparse.Namespace, protocols: Sequence[str], given: Sequence[str], rule: str) -> None:
    """Refuses flags that were given, and that only some protocols have.

    Raises:
        InputError: the protocol is another.
    """
    if given and args.protocol not in protocols:
        wrong = f"{given[0]} was given with --protocol {args.protocol}"
        raise InputError(rule, wrong=wrong, place=given[0], hint=f"--protocol {protocols[0]}")


def _schedule(args: argparse.Namespace) -> tuple[Schedule, float]:
    """When requests are sent, and how long the measurement is."""
    from bayop.load.plan import PRESETS, ClosedLoop, OpenLoop, ThinkingLoop

    gaps = args.iadist or (PRESETS[args.workload].gaps if args.workload else "exponential")
    if args.closed_loop and (args.qps or args.scan or args.search or args.curve or args.replay):
        raise InputError(
            "a closed loop must not have an offered load",
            wrong="both a load and --closed-loop were given",
            place="--closed-loop",
            hint="leave it out",
        )
    if args.think_time is not None and not (args.closed_loop or args.qps == 0.0):
        raise InputError(
            "clients that think must be those of a closed loop",
            wrong="--think-time was given without --closed-loop",
            place="--think-time",
            hint="--closed-loop --think-time 10ms",
        )
    if args.scan:
        return OpenLoop.constant(args.scan[0], gaps), args.time
    if args.search:
        return OpenLoop.constant(args.qps or _FIRST_QPS, gaps), args.time
    if args.curve:
        return _curve(args, gaps)
    if args.replay:
        return _replay(args)
    if args.closed_loop or args.loadonly or args.qps == 0.0:
        return ClosedLoop() if args.think_time is None else ThinkingLoop(args.think_time, gaps), args.time
    if args.qps is None:
        raise InputError(
            wrong="no load is given", place="--qps", hint="-q 50kqps, --closed-loop, --scan, --search or --curve"
        )
    return OpenLoop.constant(args.qps, gaps), args.time


def _curve(args: argparse.Namespace, gaps: str) -> tuple[Schedule, float]:
    """The warm-up has the load of the first hour."""
    from bayop.load.curve import LoadCurve
    from bayop.load.plan import OpenLoop, Piece

    curve = LoadCurve.load(args.curve)
    if args.peak is None and args.curve in SHAPES:
        raise InputError(
            "a built-in curve must be scaled to a peak",
            wrong="--peak is missing",
            place="--peak",
            hint="--peak 100kqps",
        )
    if args.peak is not None:
        curve = curve.scaled_to(args.peak)
    if args.hours is not None:
        curve = curve.first(args.hours)
    pieces = tuple(Piece(args.hour, qps) for qps in curve.hourly_qps)
    warmup = (Piece(args.warmup, pieces[0].qps),) if args.warmup else ()
    return OpenLoop(warmup + pieces, gaps), args.hour * len(pieces)


def _replay(args: argparse.Namespace) -> tuple[Schedule, float]:
    """As many requests as fit into the warm-up and the measurement."""
    from bayop.load.plan import Replay
    from bayop.load.trace import read_arrivals

    length_s = args.warmup + args.time
    times_s = read_arrivals(args.replay, _MOST_REPLAYED)
    if len(times_s) == _MOST_REPLAYED and times_s[-1] < length_s:
        raise InputError(
            f"a replay must have at most {_MOST_REPLAYED:,} requests",
            value=args.replay.name,
            place="--replay",
            hint="a shorter --time",
        )
    return Replay(tuple(time_s for time_s in times_s if time_s < length_s)), args.time


def _until(args: argparse.Namespace) -> UntilInterval | None:
    from bayop.load.plan import UntilInterval

    return None if args.until_ci is None else UntilInterval(args.quantile, args.until_ci)
