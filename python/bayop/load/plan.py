"""What the load generator is asked to do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Final, Literal

from bayop import _core
from bayop.errors import BayopError, InputError, UnsupportedError
from bayop.load.http_request import HttpRequest, Method
from bayop.load.sql_query import SqlQuery
from bayop.load.tls import Tls

Dialect = Literal["memcached", "memcached-binary", "redis", "http", "http2", "grpc", "postgresql", "echo"]
"""What servers speak."""

PORTS: Final[dict[Dialect, int]] = {
    "memcached": 11211, "memcached-binary": 11211, "redis": 6379, "http": 80, "http2": 80, "grpc": 80,
    "postgresql": 5432, "echo": 7,
}  # fmt: skip
"""Where they are expected to listen."""

TLS_PORTS: Final = PORTS | {"http": 443, "http2": 443, "grpc": 443}
"""The same, where they speak it in TLS."""

HTTP: Final[tuple[Dialect, ...]] = ("http", "http2", "grpc")
"""Protocols whose requests are HTTP's."""

STORES: Final[frozenset[Dialect]] = frozenset({"memcached", "memcached-binary", "redis"})
"""Protocols in which records are stored before the load."""


def default_method(dialect: Dialect) -> Method:
    """What a request does unless it says otherwise: a call of gRPC can be nothing but a POST."""
    return "POST" if dialect == "grpc" else "GET"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What is asked. Distributions are spelled as in mutilate: `30`, `pareto:15,214.476,0.348238`, `fb_key`.

    Attributes:
        records: Number of records.
        key_size: Distribution of key sizes, in bytes; a key has at least the digits of its number, at most 250.
        value_size: Distribution of value sizes, in bytes, at most 1,000,000.
        update: Share of requests that store.
        popularity: `uniform`, or `zipf:EXPONENT`.
        http: What an HTTP server is asked, by weight.
        sql: What PostgreSQL is asked.
    """

    records: int = 10_000
    key_size: str = "30"
    value_size: str = "200"
    update: float = 0.0
    popularity: str = "uniform"
    http: tuple[HttpRequest, ...] = (HttpRequest(),)
    sql: SqlQuery = field(default_factory=SqlQuery)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A workload that people know by its name, with the gaps between its arrivals."""

    workload: Workload
    gaps: str


PRESETS: Final[dict[str, Preset]] = {
    # Sizes, gaps and the ratio of 30 GETs to an UPDATE of the ETC pool.
    "etc": Preset(workload=Workload(key_size="fb_key", value_size="fb_value", update=1 / 31), gaps="fb_ia"),
    # The USR pool: keys of 16 and 21 bytes, values of 2 bytes, 99.8 % GETs. The paper gives neither the shares of the
    # two key sizes, taken to be equal, nor a fit of the gaps, taken to be exponential.
    "usr": Preset(
        workload=Workload(key_size="discrete:16=0.5,21=0.5", value_size="2", update=0.002), gaps="exponential"
    ),
}
"""Two pools of Facebook's memcached: Atikoglu et al., "Workload Analysis of a Large-Scale Key-Value Store" (SIGMETRICS
2012); the parameters are those of its section 5, which mutilate uses too."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of constant load."""

    duration_s: float
    qps: float


@dataclass(frozen=True, slots=True)
class OpenLoop:
    """Requests are sent when a random process says so, whether or not the server has answered.

    Attributes:
        pieces: The load over time, from the start of the warm-up.
        gaps: Distribution of the gaps between arrivals; its mean follows from the load.
    """

    pieces: tuple[Piece, ...]
    gaps: str = "exponential"

    @classmethod
    def constant(cls, qps: float, gaps: str = "exponential") -> OpenLoop:
        """A load that does not change, however long the run is."""
        return cls((Piece(1e6, qps),), gaps)


@dataclass(frozen=True, slots=True)
class Replay:
    """Requests are sent at given times, in s since the start, ascending."""

    times_s: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """An answer makes room for the next request: the peak that a server gives to so many clients."""


@dataclass(frozen=True, slots=True)
class ThinkingLoop:
    """A closed loop of clients that think after every answer, and then send their next request.

    There are `depth` clients for every connection, which they share. Latency counts from the end of the thought.

    Attributes:
        think_time_s: How long, on average.
        gaps: Distribution of that time; its mean follows from `think_time_s`.
    """

    think_time_s: float
    gaps: str = "exponential"


Schedule = OpenLoop | Replay | ClosedLoop | ThinkingLoop
_KINDS: Final = {OpenLoop: "open", Replay: "replay", ClosedLoop: "closed", ThinkingLoop: "thinking"}


@dataclass(frozen=True, slots=True)
class UntilInterval:
    """Ends a run early: when half the width of a quantile's 95 % confidence interval is at most this share of it."""

    quantile: float
    half_width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One run of the load generator.

    Attributes:
        servers: `host:port` each.
        dialect: What they speak.
        tls: That they speak it in TLS; None where they don't.
        workload: What is asked.
        schedule: When.
        threads: Threads of the generator.
        connections: Connections per thread and server.
        depth: Most requests under way on a connection; None is no limit (in a closed loop: 1).
        warmup_s: Load before the measurement.
        duration_s: Length of the measurement.
        timeout_s: After this time a request counts as lost, and its connection is closed.
        blocking: Sleep between events instead of polling: saves a core, costs accuracy.
        save_samples: Keep the times of every request.
        until_interval: When to end early.
        seed: Seed of everything random.
    """

    servers: tuple[str, ...]
    dialect: Dialect = "memcached"
    tls: Tls | None = None
    workload: Workload = field(default_factory=Workload)
    schedule: Schedule
    threads: int = 1
    connections: int = 1
    depth: int | None = None
    warmup_s: float = 1.0
    duration_s: float = 5.0
    timeout_s: float = 2.0
    blocking: bool = False
    save_samples: bool = False
    until_interval: UntilInterval | None = None
    seed: int = 0

    def to_json(self) -> str:
        """As the generator reads it, here or on another machine."""
        plan = asdict(self)
        plan["schedule"]["kind"] = _KINDS[type(self.schedule)]
        return json.dumps(plan, default=_characters)

    def at(self, qps: float) -> Plan:
        """The same plan with another constant load.

        Raises:
            InputError: the load of this plan is not a constant one.
        """
        if not isinstance(self.schedule, OpenLoop):
            raise InputError("a load must be that of an open loop", value=_KINDS[type(self.schedule)], parameter="qps")
        return replace(self, schedule=OpenLoop.constant(qps, self.schedule.gaps))


def _characters(body: bytes) -> str:
    """The bytes of a body as characters, because JSON has no bytes."""
    return body.decode("latin-1")


class ServerError(BayopError):
    """A server refuses, or does not speak the protocol: exit code 1."""


def translate(error: _core.Error) -> BayopError:
    """The generator's error as one of ours; its place is a parameter, where it is about one."""
    kinds: dict[str, type[BayopError]] = {"input": InputError, "failed": ServerError, "unsupported": UnsupportedError}
    return kinds[error.kind].of(error).but(parameter=error.place)


def check_request(request: HttpRequest, dialect: Dialect) -> None:
    """Refuses what is no request of a dialect of HTTP.

    Raises:
        InputError: it breaks a rule; the place is its field.
    """
    short = replace(request, bodies=request.bodies[:1])  # all are alike to the rules
    asked = Plan(servers=("-:1",), dialect=dialect, workload=Workload(http=(short,)), schedule=ClosedLoop())
    try:
        _core.load_arrivals(asked.to_json(), 0, 0)
    except _core.Error as error:
        raise translate(error) from error


def check_distribution(text: str) -> str:
    """The text, when it names a distribution.

    Raises:
        InputError: it does not.
    """
    try:
        _core.load_draw(text, 0, 0)
    except _core.Error as error:
        raise InputError.of(error).but(place=None) from error
    return text


def check_popularity(text: str) -> str:
    """The text, when it names a popularity.

    Raises:
        InputError: it does not.
    """
    try:
        _core.load_choose(text, 1, 0, 0)
    except _core.Error as error:
        raise InputError.of(error).but(place=None) from error
    return text


def with_ports(servers: Sequence[str], port: int) -> tuple[str, ...]:
    """`host`, `host:port` or `[v6]:port`, each completed by a port."""
    return tuple(s if s.rpartition(":")[2].isdigit() else f"{s}:{port}" for s in servers)
