"""`bayop.toml`: the services that `bayop run` looks after. `docs/operate.md` has an example."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, Literal, get_args

from bayop.control.budget import ErrorBudget
from bayop.control.phase import phase_of
from bayop.control.quiet import Quiet, parse_zone
from bayop.control.triggers import SCHEDULE, TRIGGERS, AnyOf, Breach, Clock, LoadChange, Trigger
from bayop.daemon.notices.terms import Notify
from bayop.daemon.savings.terms import SavingsTerms, read_savings
from bayop.daemon.web.file import WebFile
from bayop.errors import InputError, unreadable
from bayop.live.agent.address import parse_address
from bayop.live.agent.messages import Conditions, LatencyLimit, LoadBand
from bayop.live.file import ONLY_WITH, LiveFile
from bayop.objective import Objective
from bayop.optimize.server_class import ServerClass
from bayop.prior_file import PriorFile
from bayop.slo import Slo
from bayop.state.records import state_file
from bayop.toml_file import Reader, TomlFile, number, one_of, text, whole
from bayop.units import DAY_S

Mode = Literal["observe", "advise", "apply"]

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
_NAME_RULE: Final = "be up to 32 letters, digits, - and _"
_LOAD_CHANGE: Final = 0.1
_LONGEST_SETTLE_S: Final = 60.0
"""An agent passes over what clients see for no longer."""


@dataclass(frozen=True, slots=True)
class HoldTerms:
    """How an agent holds a setting between two searches.

    Attributes:
        lease_s: How long the machine keeps the setting after the brain has died.
        longest_s: How long the agent holds it without being told anew, in s.
        silence_s: How old the last word of what clients see may be; None where the agent is not told.
        latency_factor: How many times the SLO's limit such a word may say.
        band: The packets that a device may receive meanwhile; None for any load.
    """

    lease_s: float = 120.0
    longest_s: float = DAY_S
    silence_s: float | None = None
    latency_factor: float = 2.0
    band: LoadBand | None = None

    def conditions(self, slo: Slo, settle_s: float) -> Conditions:
        """As the agent is told them; it knows one quantile, the SLO's highest."""
        limit = None
        if self.silence_s is not None:
            limit_us = self.latency_factor * slo.limit_us
            limit = LatencyLimit(slo.quantity, limit_us, self.silence_s, min(settle_s, _LONGEST_SETTLE_S))
        return Conditions(limit, self.band, self.longest_s)


@dataclass(frozen=True, slots=True)
class ServiceFile:
    """What the file says of one service.

    Attributes:
        name: As its table is called.
        group: The services with the same word serve one thing, and are never searched two at once; None for no group.
        live: What a `live.toml` says, too.
        slo: The latency objective.
        mode: `observe` writes nothing to the machine, nor does `advise`, which says what a search would find; `apply`
            searches and holds.
        minimised: What is minimised, as `--objective` of a search names it.
        trigger: When to search again.
        watch_s: How long the windows are in which a setting is watched.
        max_trials: Trial budget of a search.
        hold: How a setting is held.
        quiet: When nothing is tried.
        budget: How many requests may be slower than the SLO's limit, before nothing is tried any more; None for any.
        server_class: What servers like this one have taught; None where no file of a prior is named.
        polish: For so many windows after a search, what it found is polished.
        savings: How what is held is compared with the default, and what a saving is worth.
        schedule: Whether the load of a week is learned, to be there before it is.
        load_change: How far the load may be from another to count as the same, as a share of it.
        advise_from: A study that advice is made of; None for what the state knows.
        twin: The profile of a twin that advice is made of; None for none.
    """

    name: str
    group: str | None
    live: LiveFile
    slo: Slo
    mode: Mode
    minimised: str
    trigger: Trigger
    watch_s: float
    max_trials: int
    hold: HoldTerms
    quiet: Quiet
    budget: ErrorBudget | None
    server_class: ServerClass | None
    polish: int
    savings: SavingsTerms
    schedule: bool
    load_change: float
    advise_from: Path | None
    twin: str | None

    @property
    def objective(self) -> Objective:
        """What is minimised."""
        return Objective.parse(self.minimised, self.slo)

    @property
    def phase_s(self) -> float:
        """Its windows end so long after the multiples of their length: other services' end at other times."""
        return phase_of(self.name, self.watch_s)


@dataclass(frozen=True, slots=True)
class DaemonFile:
    """What a `bayop.toml` says.

    Attributes:
        path: The file.
        state: The file of what is remembered.
        stop_file: While it exists, nothing is applied; None where there is no such switch.
        services: The services, in the order of the file.
        web: Where the page is served; None where it is not.
        notify: Who is told what happens; None where nobody is.
        toml: The file itself, for places.
    """

    path: Path
    state: Path
    stop_file: Path | None
    services: tuple[ServiceFile, ...]
    web: WebFile | None
    notify: Notify | None
    toml: TomlFile = field(repr=False, compare=False)

    @classmethod
    def read(cls, path: Path) -> DaemonFile:
        """Reads and checks a file. Paths of state and stop file are relative to the file's folder.

        Raises:
            InputError: it can't be read, has a key that is unknown, or a value that is not what it has to be.
        """
        file = TomlFile(path)
        state = _state(file, path)
        file.check_tables({"service": None, "web": None, "notify": None}, _TOP)
        top = file.read("", _TOP)
        tables = file.below("service")
        names = tables.table_names()
        tables.check_tables(dict.fromkeys((*names, *tables.values(""))), {})
        if not names:
            raise InputError(wrong="the file names no service", place=str(path), hint="add [service.NAME]")
        services = tuple(_service(tables.below(name), name, path) for name in names)
        _check_agents(services, file)
        stop_file = file.at("", "stop_file", lambda: _switch(path, top.get("stop_file")))
        return cls(
            path=path,
            state=state,
            stop_file=stop_file,
            services=services,
            web=WebFile.read(file, path.parent),
            notify=Notify.read(file, path.parent),
            toml=file,
        )

    @property
    def is_stopped(self) -> bool:
        """Whether the stop file is there. So is one that can't be looked up: whoever needs it could not set it."""
        if self.stop_file is None:
            return False
        try:
            self.stop_file.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True
        return True


def _switch(path: Path, name: str | None) -> Path | None:
    """The stop file, which must be one that can be looked up."""
    if name is None:
        return None
    switch = path.parent / name
    try:
        with suppress(FileNotFoundError):
            switch.lstat()
    except (OSError, ValueError) as error:
        raise unreadable(switch, error).but(place=None) from error
    return switch


def state_of(path: Path) -> Path:
    """The state that a file names, whatever else is wrong with it: who wants to pause a service may be in a hurry.

    Of a file that is not TOML the line counts that names the state. Without such a line, or without the file, it is the
    state of the usual name, if that is there.

    Raises:
        InputError: the file can't be read and there is no such state, or what it says of the state can't be used.
    """
    try:
        file = TomlFile(path)
    except InputError as error:
        if (state := _salvaged(path)) is not None:
            return state
        raise error.but(hint="name the state itself, such as bayop.db") from error
    return _state(file, path)


def _state(file: TomlFile, path: Path) -> Path:
    named = file.at("", "state", lambda: text(file.values("").get("state", f"{path.stem}.db")))
    return Path(file.at("", "state", lambda: state_file(path.parent / named)))


def _salvaged(path: Path) -> Path | None:
    """The state by the line that names it, else by its usual name; None where that can't be used, or is not there."""
    named = f"{path.stem}.db"
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []
        for line in takewhile(lambda line: not line.lstrip().startswith("["), lines):
            if _STATE.match(line):
                named = text(tomllib.loads(line)["state"])
        state = path.parent / named
        return state if state.is_file() else None
    except (OSError, ValueError, InputError):
        return None


_STATE: Final = re.compile(r"\s*state\s*=")
_TOP: Final[Mapping[str, Reader]] = {"state": text, "stop_file": text}


def _triggers(value: object) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text(value).split(","))
    if unknown := [name for name in names if name not in (*TRIGGERS, SCHEDULE)]:
        hint = f"several of {', '.join((*TRIGGERS, SCHEDULE))}, as in load,breach"
        raise InputError(wrong=f"there is no trigger {unknown[0]!r}", value=unknown[0], hint=hint)
    if SCHEDULE in names and "load" not in names:
        raise InputError(
            "the schedule must stand beside the trigger load, which searches where nothing is known",
            value=value,
            hint='triggers = "load,breach,schedule"',
        )
    return names


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise InputError("it must be a list of texts", value=value)
    return tuple(text(each) for each in value)


def _slo(value: object) -> Slo:
    """An SLO that can be kept for months: the default and the load do not stay as they were once."""
    if "default" in text(value):
        hint = "every search measures the default anew; write the limit itself, such as p99<500us"
        raise InputError("a service's SLO must not be relative to the default", value=value, hint=hint)
    slo = Slo.parse(text(value))
    if slo.least_qps is not None:
        hint = "its clients ask for less at times, and nothing tells that from a slow server"
        raise InputError("a service's SLO must have no throughput", value=value, hint=hint)
    return slo


def _group(value: object) -> str:
    if not _NAME.fullmatch(text(value)):
        raise InputError(f"a group must {_NAME_RULE}", value=value)
    return text(value)


_SERVICE: Final[Mapping[str, Reader]] = {
    "group": _group,
    "slo": _slo,
    "mode": one_of(get_args(Mode), "mode"),
    "objective": text,
    "prior": text,
    "advise_from": text,
    "twin": text,
}
_POLICY: Final[Mapping[str, Reader]] = {
    "triggers": _triggers,
    "clock_s": number(1.0, 7 * DAY_S),
    "load_change": number(0.01, 0.99),
    "breach_rest_s": number(0.0, DAY_S),
    "watch_s": number(0.1, 3600.0),
    "max_trials": whole(1, 1000),
    "polish": whole(0, 500),
    "quiet": _texts,
    "zone": lambda value: parse_zone(text(value)),
}
_BUDGET: Final[Mapping[str, Reader]] = {"requests_over": number(1e-9, 1.0), "period_s": number(60.0, 90 * DAY_S)}
_VALUE_OF: Final = {"clock": "clock_s", "load": "load_change", "breach": "breach_rest_s"}
"""The key with a trigger's own value."""

_HOLD: Final[Mapping[str, Reader]] = {
    "lease_s": number(2.0, 3600.0),
    "longest_s": number(1.0, 7 * DAY_S),
    "silence_s": number(0.5, 3600.0),
    "latency_factor": number(1.0, 1e6),
    "device": text,
    "low_packets_per_s": number(0.0, 1e12),
    "high_packets_per_s": number(0.0, 1e12),
}
_BAND: Final = ("device", "low_packets_per_s", "high_packets_per_s")


def _service(file: TomlFile, name: str, path: Path) -> ServiceFile:
    place = file.place("")
    if not _NAME.fullmatch(name):
        raise InputError(f"a service's name must {_NAME_RULE}", value=name, place=place)
    live = LiveFile.of(
        file,
        path,
        tables=("tls", "knobs", ONLY_WITH, "window", "guard"),
        more_keys=_SERVICE,
        more_tables=("policy", "hold", "budget", "savings"),
    )
    file.at("", "agent", lambda: parse_address(live.agent))
    own = file.read("", {**dict.fromkeys(file.values(""), lambda value: value), **_SERVICE})
    if "slo" not in own:
        raise InputError(wrong=f"the service {name} has no slo", place=place, hint='slo = "p99<500us"')
    live.source(own["slo"])
    minimised = own.get("objective", "power")
    file.at("", "objective", lambda: Objective.parse(minimised, own["slo"]))
    prior = own.get("prior")
    known = None if prior is None else file.at("", "prior", lambda: PriorFile.read(path.parent / prior).server_class)
    policy = file.read("policy", _POLICY)
    zone, watch_s = policy.get("zone", Quiet().zone), policy.get("watch_s", 60.0)
    return ServiceFile(
        name=name,
        group=own.get("group"),
        live=live,
        slo=own["slo"],
        mode=own.get("mode", "observe"),
        minimised=minimised,
        trigger=_trigger(file, policy),
        watch_s=watch_s,
        max_trials=policy.get("max_trials", 15),
        hold=_hold(file),
        quiet=file.at("policy", "quiet", lambda: Quiet.parse(policy.get("quiet", ()), zone)),
        budget=_budget(file, own["slo"]),
        server_class=known,
        polish=policy.get("polish", 60),
        savings=read_savings(file, path, service=name, watch_s=watch_s, zone=zone),
        schedule=SCHEDULE in policy.get("triggers", ()),
        load_change=policy.get("load_change", _LOAD_CHANGE),
        **_advised(file, own, path),
    )


def _advised(file: TomlFile, own: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """What advice is made of, where the file says that."""
    study, twin = own.get("advise_from"), own.get("twin")
    if study is not None and twin is not None:
        raise InputError(
            "advice must be made of a study or of a twin",
            wrong="both are named",
            place=file.place("", "twin"),
            hint="leave out advise_from or twin",
        )
    if twin is not None and str(twin).endswith(".toml"):
        twin = str(path.parent / twin)
    return {
        "advise_from": None if study is None else file.at("", "advise_from", lambda: _study(path, study)),
        "twin": twin,
    }


def _study(path: Path, name: str) -> Path:
    """The file of a study beside this one; that of an example has a whole path, which its folder does not change."""
    from bayop.study.example import study_file  # polars, which comes with it, takes its time to be imported

    return path.parent / study_file(name)


def _trigger(file: TomlFile, policy: Mapping[str, Any]) -> Trigger:
    names = policy.get("triggers", ("load", "breach"))
    for name, key in _VALUE_OF.items():
        if key in policy and name not in names:
            hint = f'add {name} to triggers, as in triggers = "{",".join((*names, name))}"'
            place = file.place("policy", key)
            raise InputError(wrong=f"{key} is the value of a trigger that is not set", place=place, hint=hint)
    made: dict[str, Trigger] = {
        "clock": Clock(policy.get("clock_s", Clock().period_s)),
        "load": LoadChange(policy.get("load_change", _LOAD_CHANGE)),
        "breach": Breach(policy.get("breach_rest_s", Breach().rest_s)),
    }
    return AnyOf(tuple(made[name] for name in names if name in made))


def _budget(file: TomlFile, slo: Slo) -> ErrorBudget | None:
    """The error budget: what the SLO itself allows in a day, where the table does not say another."""
    if "budget" not in file.table_names():
        return None
    values = file.read("budget", _BUDGET)
    return ErrorBudget(values.get("requests_over", round(1 - slo.quantile, 9)), values.get("period_s", DAY_S))


def _hold(file: TomlFile) -> HoldTerms:
    values = file.read("hold", _HOLD)
    given = {key: values.pop(key) for key in _BAND if key in values}
    if not given:
        return HoldTerms(**values)
    file.require("hold", given, _BAND, "a band of load must have device, low_packets_per_s and high_packets_per_s")
    if given["low_packets_per_s"] >= given["high_packets_per_s"]:
        raise InputError(
            "a band of load must reach upwards",
            value=given["high_packets_per_s"],
            place=file.place("hold", "high_packets_per_s"),
        )
    return HoldTerms(**values, band=LoadBand(**given))


def _check_agents(services: tuple[ServiceFile, ...], file: TomlFile) -> None:
    """Refuses two services that would write to one machine: its agent knows one writer at a time.

    Raises:
        InputError: there are two.
    """
    owners: dict[str, str] = {}
    for service in services:
        if service.mode != "apply":
            continue
        agent = str(parse_address(service.live.agent))
        if (owner := owners.setdefault(agent, service.name)) != service.name:
            raise InputError(
                "an agent must have one service in mode apply, since one writer at a time holds its lease",
                wrong=f"{owner} and {service.name} both apply to {agent}",
                value=agent,
                place=file.place(f"service.{service.name}", "agent"),
                hint='search the knobs of both in one service, or let one of them be mode = "observe"',
            )
