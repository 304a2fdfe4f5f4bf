"""Flags of `bayop load`, and the plan that they make. Letters are those of mutilate where it has a counterpart."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bayop.cli.flags import arguments
from bayop.errors import InputError
from bayop.slo import Slo
from bayop.units import parse_quantity

if TYPE_CHECKING:
    from bayop.load.plan import Plan, Schedule, UntilInterval, Workload

DIALECTS: Final = ("memcached", "memcached-binary", "redis", "http", "echo")
WORKLOADS: Final = ("etc", "usr")
SHAPES: Final = ("twitter", "twitter-cluster1", "twitter-cluster2")
_DEFAULT_TIME_S: Final = 5.0
_FIRST_QPS: Final = 1000.0
_MOST_REPLAYED: Final = 20_000_000
_MOST_STEPS: Final = 1000


def seconds(text: str) -> float:
    """A time in s: `5`, `500ms`, `1h`."""
    value = parse_quantity(text, "s")
    if value < 0:
        raise InputError("a time must not be negative", value=text)
    return value


def load_or_peak(text: str) -> float:
    """A load in requests/s; 0 asks for the peak."""
    return 0.0 if text.strip() == "0" else arguments.qps(text)


def _add(
    group: argparse._ActionsContainer,
    *names: str,
    parse: Callable[[str], object],
    metavar: str,
    help: str,  # noqa: A002 -- as argparse calls it
    default: object = None,
) -> None:
    """A flag whose errors name it."""
    flag = next(name for name in names if name.startswith("--"))
    group.add_argument(*names, type=arguments.reader(parse, flag), default=default, metavar=metavar, help=help)


def add_target(parser: argparse.ArgumentParser) -> None:
    """Whom to load, and how hard."""
    group = parser.add_argument_group("whom to load, how hard and how long")
    group.add_argument(
        "-s", "--server", action="append", metavar="HOST[:PORT]", help="a server (repeatable; every one gets a share)"
    )
    group.add_argument("--protocol", choices=DIALECTS, default="memcached", help="what it speaks (default: memcached)")
    group.add_argument(
        "--binary",
        action="store_const",
        const="memcached-binary",
        dest="protocol",
        help="the same as --protocol memcached-binary",
    )
    _add(
        group,
        "-q",
        "--qps",
        parse=load_or_peak,
        metavar="QPS",
        help="offered load, such as 100000 or 100kqps; 0: --closed-loop",
    )
    group.add_argument(
        "--closed-loop",
        action="store_true",
        help="send when an answer makes room: --depth requests under way (default: 1) on every connection",
    )
    _add(
        group,
        "-t",
        "--time",
        "--duration",
        parse=seconds,
        default=_DEFAULT_TIME_S,
        metavar="TIME",
        help="length of the measurement (default: 5s)",
    )
    _add(
        group,
        "-w",
        "--warmup",
        parse=seconds,
        default=1.0,
        metavar="TIME",
        help="load before the measurement (default: 1s)",
    )
    _add(
        group,
        "--until-ci",
        parse=arguments.share,
        metavar="SHARE",
        help="end early when the 95 %% interval of --quantile is within this share of it, such as 5%%",
    )
    _add(
        group,
        "--quantile",
        parse=_quantile,
        default=0.99,
        metavar="PERCENT",
        help="the quantile that --until-ci watches (default: p99)",
    )
    _add(
        group,
        "--timeout",
        parse=seconds,
        default=2.0,
        metavar="TIME",
        help="a request without an answer after this time is lost, and its connection is closed (default: 2s)",
    )


def add_experiment(parser: argparse.ArgumentParser) -> None:
    """More than one constant load."""
    group = parser.add_argument_group("instead of one load").add_mutually_exclusive_group()
    _add(group, "--scan", parse=_scan, metavar="MIN:MAX:STEP", help="one run at each of these loads")
    _add(
        group,
        "--search",
        parse=_search,
        metavar="PERCENT:TIME",
        help="find the highest load that meets an SLO, such as 99:500us, by bisection from --qps",
    )
    group.add_argument(
        "--curve", metavar="NAME|FILE", help="a load curve: twitter, hourly counts, or a raw trace (CSV or .zst)"
    )
    _add(
        group,
        "--replay",
        parse=arguments.path,
        metavar="FILE",
        help="the arrival times of a raw trace: a CSV (or .zst) whose first column is the time in s",
    )
    curve = parser.add_argument_group("a load curve")
    _add(curve, "--peak", parse=arguments.qps, metavar="QPS", help="scale the curve to this load in its busiest hour")
    _add(curve, "--hour", parse=seconds, default=60.0, metavar="TIME", help="play an hour in this time (default: 60s)")
    _add(curve, "--hours", parse=arguments.positive, metavar="N", help="play the first N hours (default: all)")


def add_workload(parser: argparse.ArgumentParser) -> None:
    """What to ask."""
    group = parser.add_argument_group(
        "what to ask",
        "DIST is N, fixed:N, uniform:MAX, normal:MEAN,SD, exponential:RATE, pareto:LOC,SCALE,SHAPE, "
        "gev:LOC,SCALE,SHAPE, discrete:N=SHARE,N=SHARE, fb_key, fb_value or fb_ia",
    )
    group.add_argument(
        "--workload", choices=WORKLOADS, help="sizes, updates and gaps of a pool of Facebook's; flags below override it"
    )
    _add(group, "-K", "--keysize", parse=_distribution, metavar="DIST", help="bytes of a key (default: 30)")
    _add(
        group,
        "-V",
        "--valuesize",
        "--message-size",
        parse=_distribution,
        metavar="DIST",
        help="bytes of a value, or of an echoed message (default: 200)",
    )
    _add(
        group,
        "-r",
        "--records",
        parse=arguments.whole_number(1, 10**8),
        default=10_000,
        metavar="N",
        help="records (default: 10000)",
    )
    _add(
        group,
        "-u",
        "--update",
        parse=arguments.share,
        metavar="SHARE",
        help="share of requests that store (default: 0)",
    )
    _add(
        group,
        "-i",
        "--iadist",
        parse=_distribution,
        metavar="DIST",
        help="gaps between arrivals, scaled to the load (default: exponential)",
    )
    _add(
        group,
        "--popularity",
        parse=_popularity,
        default="uniform",
        metavar="NAME",
        help="uniform, or zipf:EXPONENT (default: uniform)",
    )
    group.add_argument("--path", default="/", help="what an HTTP server is asked for (default: /)")
    group.add_argument("--noload", action="store_true", help="don't store the records first: they are there")
    group.add_argument("--loadonly", action="store_true", help="store the records, check them, and end")
    arguments.add_seed(parser)


def add_generator(parser: argparse.ArgumentParser) -> None:
    """How the generator works."""
    group = parser.add_argument_group("how to send")
    _add(
        group,
        "-T",
        "--threads",
        parse=arguments.whole_number(1, 256),
        default=1,
        metavar="N",
        help="threads (default: 1)",
    )
    _add(
        group,
        "-c",
        "--connections",
        parse=arguments.whole_number(1, 20_000),
        default=1,
        metavar="N",
        help="connections per thread and server (default: 1)",
    )
    _add(
        group,
        "-d",
        "--depth",
        parse=arguments.positive,
        metavar="N",
        help="most requests under way on a connection (default: no limit; mutilate: 1)",
    )
    group.add_argument(
        "-B", "--blocking", action="store_true", help="sleep between events: saves a core, costs accuracy"
    )


def add_machines(parser: argparse.ArgumentParser) -> None:
    """Several machines."""
    group = parser.add_argument_group("several machines")
    group.add_argument(
        "-A", "--agent", action="store_true", help="be an agent: wait for a coordinator and run its plans"
    )
    group.add_argument(
        "--listen",
        default="127.0.0.1",
        metavar="HOST[:PORT]",
        help="where an agent waits; whoever reaches it can make it send load (default: 127.0.0.1:5556)",
    )
    _add(
        group,
        "-l",
        "--lambda-mul",
        parse=_weight,
        default=1.0,
        metavar="WEIGHT",
        help="an agent's share of the load, relative to that of others (default: 1)",
    )
    group.add_argument(
        "-a", "--with-agent", action="append", metavar="HOST[:PORT]", help="coordinate this agent (repeatable)"
    )
    _add(
        group,
        "-Q",
        "--measure-qps",
        parse=arguments.qps,
        metavar="QPS",
        help="load of the measuring client here (default: a tenth, at most 1000)",
    )
    _add(
        group,
        "-C",
        "--measure-connections",
        parse=arguments.whole_number(1, 20_000),
        metavar="N",
        help="its connections (default: --connections)",
    )
    _add(group, "-D", "--measure-depth", parse=arguments.positive, metavar="N", help="its depth (default: no limit)")


def add_output(parser: argparse.ArgumentParser) -> None:
    """What to write."""
    group = parser.add_argument_group("what to write")
    arguments.add_json(parser)
    _add(
        group, "--hgrm", parse=arguments.path, metavar="FILE", help="the latency distribution in HdrHistogram's format"
    )
    _add(
        group,
        "--save",
        parse=arguments.path,
        metavar="FILE",
        help="a CSV of every answered request: intended, sent and received time in ns",
    )


def plan_of(args: argparse.Namespace) -> Plan:
    """The plan that the flags ask for.

    Raises:
        InputError: flags contradict each other, or one is missing.
    """
    from bayop.load.plan import Plan, with_ports

    schedule, duration_s = _schedule(args)
    if not args.server:
        raise InputError(wrong="no server is named", place="--server", hint="-s HOST[:PORT]")
    return Plan(
        servers=with_ports(args.server, args.protocol),
        dialect=args.protocol,
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


def _workload(args: argparse.Namespace) -> Workload:
    from bayop.load.plan import PRESETS, Workload

    given = {"key_size": args.keysize, "value_size": args.valuesize, "update": args.update}
    base = PRESETS[args.workload].workload if args.workload else Workload()
    asked = {name: value for name, value in given.items() if value is not None}
    return replace(base, records=args.records, popularity=args.popularity, path=args.path, **asked)


def _schedule(args: argparse.Namespace) -> tuple[Schedule, float]:
    """When requests are sent, and how long the measurement is."""
    from bayop.load.plan import PRESETS, ClosedLoop, OpenLoop

    gaps = args.iadist or (PRESETS[args.workload].gaps if args.workload else "exponential")
    if args.closed_loop and (args.qps or args.scan or args.search or args.curve or args.replay):
        raise InputError(
            "a closed loop must not have an offered load",
            wrong="both a load and --closed-loop were given",
            place="--closed-loop",
            hint="leave it out",
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
        return ClosedLoop(), args.time
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


def _quantile(text: str) -> float:
    digits = text.strip().removeprefix("p").removeprefix("P")
    try:
        return Slo.parse(f"p{digits}<1us").quantile
    except InputError as error:
        raise InputError("a quantile must be written as p99, 99 or 99.9", value=text) from error


def _weight(text: str) -> float:
    value = parse_quantity(text, "")
    if value <= 0:
        raise InputError("a weight must be positive", value=text)
    return value


def _scan(text: str) -> list[float]:
    parts = text.split(":")
    if len(parts) != 3:
        raise InputError("a scan must be MIN:MAX:STEP", value=text, hint="for example 10kqps:100kqps:10kqps")
    low, high, step = (arguments.qps(part) for part in parts)
    if low > high or (high - low) / step >= _MOST_STEPS:
        raise InputError(f"a scan must ascend, in fewer than {_MOST_STEPS} steps", value=text)
    return [low + index * step for index in range(int((high - low) / step * (1 + 1e-9)) + 1)]


def _search(text: str) -> Slo:
    if "<" in text:
        return Slo.parse(text)
    percent, _, limit = text.removeprefix("p").partition(":")
    # mutilate's limit is a number of us.
    limit_us = f"{limit}us" if limit.strip().isdigit() else limit
    try:
        return Slo.parse(f"p{percent}<{limit_us}")
    except InputError as error:
        hint = "for example 99:500us or p99<500us"
        raise InputError("a search must be PERCENT:TIME or an SLO", value=text, hint=hint) from error


def _distribution(text: str) -> str:
    from bayop.load.plan import check_distribution

    return check_distribution(text)


def _popularity(text: str) -> str:
    from bayop.load.plan import check_popularity

    return check_popularity(text)
