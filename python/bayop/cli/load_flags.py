"""Flags of `bayop load`, and the plan that they make. Letters are those of mutilate where it has a counterpart."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bayop.cli import arguments
from bayop.errors import InputError
from bayop.slo import Slo
from bayop.units import parse_quantity

if TYPE_CHECKING:
    from bayop.load.plan import Plan, Schedule, UntilInterval, Workload

DIALECTS: Final = ("memcached", "memcached-binary", "redis", "http", "echo")
WORKLOADS: Final = ("etc", "usr")
_DEFAULT_TIME_S: Final = 5.0


def seconds(text: str) -> float:
    """A time in s: `5`, `500ms`, `1h`."""
    value = parse_quantity(text, "s")
    if value < 0:
        raise InputError("a time is not negative", value=text)
    return value


def share(text: str) -> float:
    """A share: `0.05`, `5%`."""
    value = parse_quantity(text, "%") / 100.0 if text.strip().endswith("%") else parse_quantity(text, "")
    if not 0.0 <= value <= 1.0:
        raise InputError("a share lies between 0 and 1", value=text)
    return value


def load_or_peak(text: str) -> float:
    """A load in requests/s; 0 asks for the peak."""
    return 0.0 if text.strip() == "0" else arguments.qps(text)


def _add(
    group: argparse._ArgumentGroup,
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
        parse=share,
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
    _add(group, "-u", "--update", parse=share, metavar="SHARE", help="share of requests that store (default: 0)")
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

    if not args.server:
        raise InputError("a server must be named", place="--server", hint="-s HOST[:PORT]")
    return Plan(
        servers=with_ports(args.server, args.protocol),
        dialect=args.protocol,
        workload=_workload(args),
        schedule=_schedule(args),
        threads=args.threads,
        connections=args.connections,
        depth=args.depth,
        warmup_s=args.warmup,
        duration_s=args.time,
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


def _schedule(args: argparse.Namespace) -> Schedule:
    from bayop.load.plan import PRESETS, ClosedLoop, OpenLoop

    if args.closed_loop and args.qps:
        raise InputError(
            "a closed loop has no offered load", value=args.qps, place="--qps", hint="leave --closed-loop out"
        )
    if args.closed_loop or not args.qps:
        return ClosedLoop()
    preset = PRESETS[args.workload].gaps if args.workload else "exponential"
    return OpenLoop.constant(args.qps, args.iadist or preset)


def _until(args: argparse.Namespace) -> UntilInterval | None:
    from bayop.load.plan import UntilInterval

    return None if args.until_ci is None else UntilInterval(args.quantile, args.until_ci)


def _quantile(text: str) -> float:
    digits = text.strip().removeprefix("p").removeprefix("P")
    try:
        return Slo.parse(f"p{digits}<1us").quantile
    except InputError as error:
        raise InputError("a quantile is written as p99, 99 or 99.9", value=text) from error


def _distribution(text: str) -> str:
    from bayop.load.plan import check_distribution

    return check_distribution(text)


def _popularity(text: str) -> str:
    from bayop.load.plan import check_popularity

    return check_popularity(text)
