"""Flags of `bayop load`, a row each. Letters are those of mutilate where it has a counterpart."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, Final

from bayop.cli.flags import arguments
from bayop.cli.load import values
from bayop.cli.load.plan import DURATION_S, HOUR_S, WARMUP_S

DIALECTS: Final = ("memcached", "memcached-binary", "redis", "http", "http2", "grpc", "postgresql", "echo")
WORKLOADS: Final = ("etc", "usr")

Flag = tuple[list[str], dict[str, Any]]
"""The names of a flag, and how argparse reads it."""


def _value(
    names: str, parse: Callable[[str], object], metavar: str, help_: str, default: object = None, **more: object
) -> Flag:
    """A flag with a value; its errors name it."""
    flag = next(name for name in names.split() if name.startswith("--"))
    read = arguments.reader(parse, flag)
    return names.split(), {"type": read, "default": default, "metavar": metavar, "help": help_, **more}


def _switch(names: str, help_: str) -> Flag:
    return names.split(), {"action": "store_true", "help": help_}


def _text(names: str, metavar: str | None, help_: str, **more: object) -> Flag:
    """A flag that argparse reads by itself."""
    return names.split(), {"metavar": metavar, "help": help_, **more}


_COUNT: Final = arguments.positive
_CONNECTIONS: Final = arguments.whole_number(1, 20_000)

TARGET: Final = (
    _value(
        "-s --server", values.server, "HOST[:PORT]", "a server (repeatable; every one gets a share)", action="append",
        dest="servers",
    ),
    _text(
        "--protocol", None, "what it speaks (default: memcached)", choices=DIALECTS, default="memcached",
        type=arguments.reader(values.protocol, "--protocol"),
    ),
    (
        ["--binary"],
        {
            "action": "store_const", "const": "memcached-binary", "dest": "protocol",
            "help": "the same as --protocol memcached-binary",
        },
    ),
    _value("-q --qps", values.load_or_peak, "QPS", "offered load, such as 100000 or 100kqps; 0: --closed-loop"),
    _switch(
        "--closed-loop",
        "send when an answer makes room: --depth requests under way (default: 1) on every connection",
    ),
    _value(
        "--think-time", values.seconds, "TIME",
        "in a closed loop: mean time between an answer and the client's next request, distributed as --iadist says",
        dest="think_time_s",
    ),
    _value(
        "-t --time --duration", values.seconds, "TIME",
        f"length of the measurement (default: {DURATION_S:g}s; with --replay what is left of the trace)",
        dest="duration_s",
    ),
    _value(
        "-w --warmup", values.seconds, "TIME",
        f"load before the measurement (default: {WARMUP_S:g}s; with --replay none)",
        dest="warmup_s",
    ),
    _value(
        "--until-ci", arguments.share, "SHARE",
        "end early when the 95 %% interval of --quantile is within this share of it, such as 5%%",
        dest="until_interval",
    ),
    _value("--quantile", values.quantile, "PERCENT", "the quantile that --until-ci watches (default: p99)", 0.99),
    _value(
        "--timeout", values.seconds, "TIME",
        "a request without an answer after this time is lost, and its connection is closed (default: 2s)", 2.0,
        dest="timeout_s",
    ),
    (
        ["--expect"],
        {
            "type": arguments.reader(values.expectations, "--expect"), "action": "extend", "default": [],
            "metavar": "LIMIT",
            "help": "exit with 1 unless the result keeps it: p99<500us, qps>40k, or qps>95%% of what was offered "
            "(repeatable; with --scan at every load)",
        },
    ),
)  # fmt: skip
EXPERIMENT: Final = (
    _value("--scan", values.scan, "MIN:MAX:STEP", "one run at each of these loads"),
    _value(
        "--search", values.search, "PERCENT:TIME",
        "find the highest load that meets an SLO, such as 99:500us, by bisection from --qps",
    ),
    _text("--curve", "NAME|FILE", "a load curve: twitter, hourly counts, or a raw trace (CSV or .zst)"),
    _value(
        "--replay", arguments.path, "FILE",
        "the arrival times of a raw trace: a CSV (or .zst) whose first column is the time in s",
    ),
)  # fmt: skip
CURVE: Final = (
    _value("--peak", arguments.qps, "QPS", "scale the curve to this load in its busiest hour"),
    _value("--hour", values.seconds, "TIME", f"play an hour in this time (default: {HOUR_S:g}s)"),
    _value("--hours", _COUNT, "N", "play the first N hours (default: all)"),
)
WORKLOAD: Final = (
    _text(
        "--workload", None, "sizes, updates and gaps of a pool of Facebook's; flags below override it",
        choices=WORKLOADS,
    ),
    _value("-K --keysize", values.distribution, "DIST", "bytes of a key (default: 30)"),
    _value(
        "-V --valuesize --message-size", values.distribution, "DIST",
        "bytes of a value, or of an echoed message (default: 200)",
    ),
    _value("-r --records", arguments.whole_number(1, 10**8), "N", "records (default: 10000)", 10_000),
    _value("-u --update", arguments.share, "SHARE", "share of requests that store (default: 0)"),
    _value(
        "-i --iadist", values.distribution, "DIST", "gaps between arrivals, scaled to the load (default: exponential)",
        dest="gaps",
    ),
    _value(
        "--mix", arguments.path, "FILE",
        "several HTTP requests, or queries of PostgreSQL, by weight: TOML with a table for each of them",
    ),
    _value("--popularity", values.popularity, "NAME", "uniform, or zipf:EXPONENT (default: uniform)", "uniform"),
    _switch("--noload", "don't store the records first: they are there"),
    _switch("--loadonly", "store the records, check them, and end"),
)  # fmt: skip
METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
HTTP: Final = (
    _text(
        "--path", None,
        "what is asked for, of gRPC /package.Service/Method; {n} in it is the number of a record (default: /)",
        default="/",
    ),
    (
        ["--header"],
        {
            "type": arguments.reader(values.header, "--header"), "action": "append", "default": [],
            "dest": "headers", "metavar": "NAME:VALUE",
            "help": "a header of every request, instead of the generator's of that name; {n} in its value is the "
            "number of a record (repeatable)",
        },
    ),
    _text("--method", None, "what every request does (default: GET; of gRPC POST)", choices=METHODS),
    _value(
        "--body", arguments.path, "FILE|FOLDER",
        "the body of every request (POST, PUT, PATCH), or the message of every call; a folder's files in turn by the "
        "number of the record",
    ),
)  # fmt: skip
POSTGRESQL: Final = (
    _text("--query", "SQL", "the query; {n} in it is the number of a record (default: SELECT 1)"),
    _text("--user", "NAME", "who asks (default: postgres)"),
    _text("--database", "NAME", "the database (default: the one with the user's name)"),
    _value("--password-file", arguments.path, "FILE", "a file whose first line is the user's password"),
)
TLS: Final = (
    _switch("--tls", "the servers speak --protocol in TLS, with certificates for the names by which --server has them"),
    _value(
        "--cacert", arguments.path, "FILE",
        "certificates in PEM of who may have signed theirs (default: those whom this machine trusts)",
        dest="authorities",
    ),
    _switch("--insecure", "don't look at their certificates"),
)  # fmt: skip
GENERATOR: Final = (
    _value("-T --threads", arguments.whole_number(1, 256), "N", "threads (default: 1)", 1),
    _value("-c --connections", _CONNECTIONS, "N", "connections per thread and server (default: 1)", 1),
    _value("-d --depth", _COUNT, "N", "most requests under way on a connection (default: no limit; mutilate: 1)"),
    _switch("-B --blocking", "sleep between events: saves a core, costs accuracy"),
)
MACHINES: Final = (
    _switch("-A --agent", "be a peer: wait for a coordinator and run its plans"),
    _text(
        "--listen", "HOST[:PORT]",
        "where a peer waits; whoever reaches it can make it send load (default: 127.0.0.1:5556)", default="127.0.0.1",
    ),
    _value(
        "-l --lambda-mul", values.weight, "WEIGHT",
        "a peer's share of the load, relative to that of others (default: 1)", 1.0,
    ),
    _text("-a --with-agent", "HOST[:PORT]", "coordinate this peer (repeatable)", action="append"),
    _value(
        "-Q --measure-qps", arguments.qps, "QPS", "load of the measuring client here (default: a tenth, at most 1000)"
    ),
    _value("-C --measure-connections", _CONNECTIONS, "N", "its connections (default: --connections)"),
    _value("-D --measure-depth", _COUNT, "N", "its depth (default: no limit)"),
)  # fmt: skip
OUTPUT: Final = (
    _value("--hgrm", arguments.path, "FILE", "a new file for the latency distribution in HdrHistogram's format"),
    _value("--save", arguments.path, "FILE", "a new CSV of all answered requests: intended, sent, received time in ns"),
)

_DISTRIBUTIONS: Final = (
    "DIST is N, fixed:N, uniform:MAX, normal:MEAN,SD, exponential:RATE, pareto:LOC,SCALE,SHAPE, "
    "gev:LOC,SCALE,SHAPE, discrete:N=SHARE,N=SHARE, fb_key, fb_value or fb_ia"
)


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Declares all of them, in groups."""

    def add(group: argparse._ActionsContainer, flags: tuple[Flag, ...]) -> None:
        for names, how in flags:
            group.add_argument(*names, **how)

    add(parser.add_argument_group("whom to load, how hard and how long"), TARGET)
    add(parser.add_argument_group("instead of one load").add_mutually_exclusive_group(), EXPERIMENT)
    add(parser.add_argument_group("a load curve"), CURVE)
    add(parser.add_argument_group("what to ask", _DISTRIBUTIONS), WORKLOAD)
    add(parser.add_argument_group("what to ask an HTTP server, or one of gRPC"), HTTP)
    add(parser.add_argument_group("what to ask PostgreSQL"), POSTGRESQL)
    add(parser.add_argument_group("whether to encrypt"), TLS)
    arguments.add_seed(parser)
    add(parser.add_argument_group("how to send"), GENERATOR)
    add(parser.add_argument_group("several machines"), MACHINES)
    arguments.add_json(parser)
    add(parser.add_argument_group("what to write"), OUTPUT)
