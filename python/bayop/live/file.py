"""`live.toml`: one live search, as `bayop tune --target live.toml` reads it. `docs/live.md` has an example."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, get_args

from bayop.catalogue import check_known
from bayop.domains import Condition, Range, by_knob, parse_condition, read_ranges
from bayop.errors import InputError
from bayop.latency.base import LatencySource
from bayop.live.agent.address import Credentials
from bayop.live.patience import PATIENCE_S
from bayop.live.sources import checked_source
from bayop.live.target import SETTLE_S
from bayop.live.trial_guard import LATENCY_FACTOR, LOAD_BAND
from bayop.load.http_request import HttpRequest
from bayop.load.plan import (
    PORTS,
    PRESETS,
    TLS_PORTS,
    Dialect,
    OpenLoop,
    Plan,
    Workload,
    check_distribution,
    check_popularity,
    default_method,
    with_ports,
)
from bayop.load.sql_query import SqlQuery, SqlText, read_password
from bayop.load.tls import tls_of
from bayop.program import split_command
from bayop.slo import Slo
from bayop.toml_file import Reader, TomlFile, flag, number, one_of, text, whole

ONLY_WITH: Final = "only_with"
"""The table that says which knobs matter only when others are set."""

TABLES: Final = ("tls", "knobs", ONLY_WITH, "load", "window", "guard", "host")
"""The tables of such a file."""

_LONGEST_S: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Load:
    """The load that BayOp keeps up.

    Attributes:
        plan: What is sent.
        through: What brings the generator to where the clients are.
        store: Whether records are stored first, where the protocol has any.
    """

    plan: Plan
    through: tuple[str, ...]
    store: bool


@dataclass(frozen=True, slots=True)
class LiveFile:
    """What such a file says.

    Attributes:
        path: The file.
        agent: Address of the agent.
        credentials: For an https agent.
        knobs: Ids of the knobs to search; none for those that the agent allows.
        ranges: For some of them, the numbers to choose from.
        only_with: For some knobs, what others must be set to for them to matter.
        load: The load that BayOp keeps up; None when the service has one of its own.
        latency: The source of latency, as `--latency` names it; None for the load generator itself.
        qps: The service's own load; None when BayOp makes it or the source of latency counts it.
        window_s: How long one window is; None for as long as the source of latency needs.
        settle_s: How long a setting works before it is measured.
        interval: Half of the width of the 95 % confidence interval that is narrow enough, as a share.
        most_windows: No trial has more windows than this.
        patience_s: How long a search waits for a hypervisor that takes the processors away, all in all.
        latency_factor: How many times the SLO's limit end a trial.
        load_band: How far the load may be from its value, as a share of it.
        headroom: How far the latency must stay below the SLO's limit, as a share of it.
        toml: The file itself, or its table, for places.
    """

    path: Path
    agent: str
    credentials: Credentials | None
    knobs: tuple[str, ...]
    ranges: Mapping[str, Range]
    only_with: Mapping[str, tuple[Condition, ...]]
    load: Load | None
    latency: str | None
    qps: float | None
    window_s: float | None
    settle_s: float
    interval: float
    most_windows: int
    patience_s: float
    latency_factor: float
    load_band: float
    headroom: float
    toml: TomlFile = field(repr=False, compare=False)

    @classmethod
    def read(cls, path: Path) -> LiveFile:
        """Reads and checks a file.

        Raises:
            InputError: it can't be read, has a key that is unknown, or a value that is not what it has to be.
        """
        return cls.of(TomlFile(path), path)

    @classmethod
    def of(
        cls,
        file: TomlFile,
        path: Path,
        *,
        tables: Collection[str] = TABLES,
        more_keys: Mapping[str, Reader] | None = None,
        more_tables: Collection[str] = (),
    ) -> LiveFile:
        """What a file says, or a table of one.

        Args:
            file: The file, or the table.
            path: Where it stands.
            tables: Which of its tables it may have.
            more_keys: What else may stand in it outside of tables; not read here.
            more_tables: Which other tables it may have; not read here.

        Raises:
            InputError: a key is unknown, or a value is not what it has to be.
        """
        keys = {**_TOP, **(more_keys or {})}
        file.check_tables(dict.fromkeys((*tables, *more_tables)), keys)
        top = file.read("", keys)
        window, guard = file.read("window", _WINDOW), file.read("guard", _GUARD)
        if "agent" not in top:
            raise InputError(
                wrong="the file names no agent", place=file.place(""), hint='agent = "unix:/run/bayop/agent.sock"'
            )
        load = _load(file)
        if load is None and "latency" not in top:
            hint = 'latency = "probe:memcached://HOST"'
            if "load" in tables:
                hint = f"add [load], or {hint}; with both, the load is not what is measured"
            raise InputError(wrong="the file names no source of latency", place=file.place(""), hint=hint)
        if load is not None and "qps" in top:
            raise InputError(
                "the qps of a load that BayOp makes must be in [load]", value=top["qps"], place=file.place("", "qps")
            )
        ranges = read_ranges(file, "knobs")
        return cls(
            path=path,
            agent=top["agent"],
            credentials=_credentials(file),
            knobs=tuple(file.table("knobs")),
            ranges={k: r for k, r in ranges.items() if r is not None},
            only_with=_only_with(file),
            load=load,
            latency=top.get("latency"),
            qps=top.get("qps") if load is None else load.plan.schedule.pieces[0].qps,  # type: ignore[union-attr]
            window_s=window.get("window_s"),
            settle_s=window.get("settle_s", SETTLE_S),
            interval=window.get("interval", 0.1),
            most_windows=window.get("most_windows", 3),
            patience_s=file.read("host", _HOST).get("patience_s", PATIENCE_S),
            latency_factor=guard.get("latency_factor", LATENCY_FACTOR),
            load_band=guard.get("load_band", LOAD_BAND),
            headroom=guard.get("headroom", 0.0),
            toml=file,
        )

    def source(self, slo: Slo) -> LatencySource | None:
        """The source of latency for an SLO; None for the load generator itself.

        Raises:
            InputError: it is known without asking anybody that it can't work; the place is its line.
        """
        named = self.latency
        return None if named is None else self.toml.at("", "latency", lambda: checked_source(named, slo=slo))

    def place(self, parameter: str) -> str:
        """Where the file gives a parameter of a target, or would: its own `load` is `qps` here."""
        key = {"load": "qps"}.get(parameter, parameter)
        if key in self.toml.values(""):
            return self.toml.place("", key)
        return f"{self.toml.place('')}, {key}" if self.load is None else self.toml.place("load")


_qps = number(0.001, 1e9)
_TOP: Final[Mapping[str, Reader]] = {"agent": text, "latency": text, "qps": _qps}
_TLS: Final[Mapping[str, Reader]] = {"certificate": text, "key": text, "ca": text}
_WORKLOAD: Final[Mapping[str, Reader]] = {
    "records": whole(1, 10**9),
    "key_size": lambda value: check_distribution(text(value)),
    "value_size": lambda value: check_distribution(text(value)),
    "update": number(0.0, 1.0),
    "popularity": lambda value: check_popularity(text(value)),
}
_LOAD: Final[Mapping[str, Reader]] = {
    "server": text,
    "qps": _qps,
    "protocol": one_of(get_args(Dialect), "protocol"),
    "workload": one_of(PRESETS, "workload"),
    "gaps": lambda value: check_distribution(text(value)),
    "threads": whole(1, 256),
    "connections": whole(1, 100_000),
    "depth": whole(1, 10**6),
    "timeout_s": number(0.001, _LONGEST_S),
    "blocking": flag,
    "seed": whole(0, 2**32 - 1),
    "through": text,
    "tls": flag,
    "cacert": lambda value: Path(text(value)),
    "insecure": flag,
    "path": text,
    "query": lambda value: (SqlText(text=text(value)),),
    "user": text,
    "database": text,
    "password_file": lambda value: read_password(Path(text(value))),
    "store": flag,
    **_WORKLOAD,
}
_QUERY: Final = {"query": "texts", "user": "user", "database": "database", "password_file": "password"}
"""Keys of `[load]` that say what PostgreSQL is asked, and what a `SqlQuery` calls them."""

_WINDOW: Final[Mapping[str, Reader]] = {
    "window_s": number(0.001, _LONGEST_S),
    "settle_s": number(0.0, _LONGEST_S),
    "interval": number(0.001, 10.0),
    "most_windows": whole(1, 1000),
}
_HOST: Final[Mapping[str, Reader]] = {"patience_s": number(0.0, _LONGEST_S)}
_GUARD: Final[Mapping[str, Reader]] = {
    "latency_factor": number(1.0, 1e6),
    "load_band": number(0.01, 0.99),
    "headroom": number(0.0, 0.9),
}


def _credentials(file: TomlFile) -> Credentials | None:
    if not (files := file.read("tls", _TLS)):
        return None
    file.require("tls", files, _TLS, "mutual TLS must have certificate, key and ca")
    return Credentials(**{key: Path(name) for key, name in files.items()})


def _only_with(file: TomlFile) -> dict[str, tuple[Condition, ...]]:
    """The conditions of each knob."""
    knobs = by_knob(file, ONLY_WITH)
    return {k: file.at(ONLY_WITH, k, lambda k=k, v=v: _conditions(k, v)) for k, v in knobs.items()}  # type: ignore[misc]


def _conditions(knob_id: str, others: object) -> tuple[Condition, ...]:
    check_known(knob_id)
    if not isinstance(others, dict):
        raise InputError("it must be a table", value=others, hint='{ "nic.adaptive_rx" = "off" }')
    for other in others:
        check_known(other)
    return tuple(parse_condition(other, text(values)) for other, values in others.items())


def _load(file: TomlFile) -> Load | None:
    values = file.read("load", _LOAD)
    if not values:
        return None
    file.require("load", values, ("server", "qps"), "a load must have a server and qps")
    preset = PRESETS.get(values.pop("workload", ""))
    workload = preset.workload if preset else Workload()
    gaps = values.pop("gaps", preset.gaps if preset else "exponential")
    dialect: Dialect = values.pop("protocol", "memcached")
    through, store = values.pop("through", ""), values.pop("store", True)
    speaks_tls = values.pop("tls", False)
    trust = {"authorities": values.pop("cacert", None), "insecure": values.pop("insecure", False)}
    changes: dict[str, Any] = {key: values.pop(key) for key in _WORKLOAD if key in values}
    query = {name: values.pop(key) for key, name in _QUERY.items() if key in values}
    request = HttpRequest(method=default_method(dialect), path=values.pop("path", "/"))
    plan = Plan(
        servers=with_ports([values.pop("server")], (TLS_PORTS if speaks_tls else PORTS)[dialect]),
        dialect=dialect,
        tls=file.at("load", None, lambda: tls_of(tls=speaks_tls, **trust)),
        workload=replace(workload, http=(request,), sql=SqlQuery(**query), **changes),
        schedule=OpenLoop.constant(values.pop("qps"), gaps),
        **values,
    )
    words = file.at("load", "through", lambda: split_command(through)) if through else ()
    return Load(plan, tuple(words), store)
