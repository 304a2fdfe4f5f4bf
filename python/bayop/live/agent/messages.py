"""What an agent says, as data. Field names are those of its OpenAPI description."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from bayop import __version__
from bayop.errors import BayopError, UnsupportedError
from bayop.space import Choices, Steps, Value

T = TypeVar("T")

Json: TypeAlias = Mapping[str, Any]
Domain: TypeAlias = Steps | Choices


@dataclass(frozen=True, slots=True)
class Held:
    """A knob in one place that the agent has changed, or has to restore.

    Attributes:
        knob: `nic.rx_usecs@eth0`.
        found: What it was before the agent's first write.
        requested: What was asked.
        effective: What is in effect; None when it can't be read.
        state: `held`; `stood_down` when somebody else changed it; `latched` when it could not be restored.
        reason: Why it is not held.
    """

    knob: str
    found: Value
    requested: Value
    effective: Value | None
    state: Literal["held", "stood_down", "latched"]
    reason: str | None


@dataclass(frozen=True, slots=True)
class Tenure:
    """Somebody's hold on a machine: who, in its own words, and how long ago it began, in s."""

    holder: str
    age_s: float


@dataclass(frozen=True, slots=True)
class Status:
    """What an agent is doing.

    Attributes:
        version: The agent's.
        mode: How far it goes.
        lease: Who may write now; None when nobody.
        lease_ends_s: When the lease ends unless it is renewed, in s.
        kept: Whether what is held stays without a lease.
        applied_by: Whose setting is in effect; None when nothing was applied since the last restore.
        held: The knobs that are held, or could not be restored.
        damage: Why nothing may be applied before a person has looked at the machine.
    """

    version: str
    mode: Literal["observe", "advise", "apply"]
    lease: Tenure | None
    lease_ends_s: float | None
    kept: bool
    applied_by: Tenure | None
    held: tuple[Held, ...]
    damage: str | None

    @property
    def lease_holder(self) -> str | None:
        """Who may write now, in its own words."""
        return None if self.lease is None else self.lease.holder


@dataclass(frozen=True, slots=True)
class Place:
    """One knob in one place.

    Attributes:
        at: `eth0`, `policy0`, `intel-rapl:0/0`.
        domain: What the hardware takes.
        allowed: What the agent's allow-list leaves of it; None when BayOp may not write here.
        effective: The value in effect; None when it can't be read, and `error` says why.
        error: Why the value can't be read.
    """

    at: str
    domain: Domain
    allowed: Domain | None
    effective: Value | None
    error: str | None


@dataclass(frozen=True, slots=True)
class MachineKnob:
    """A knob of the catalogue with its places on one machine."""

    id: str
    summary: str
    unit: str | None
    safest: Literal["low", "high"] | None
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class MachineKnobs:
    """Every knob of the catalogue: those that the machine has, and why the others are missing (by id)."""

    knobs: tuple[MachineKnob, ...]
    missing: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Reading:
    """One sensor, read once.

    Attributes:
        name: The quantity with its unit: `energy_j`, `interrupts`.
        at: Where: a zone, a CPU, a queue.
        value: None when it could not be read; `error` says why.
        kind: A counter only grows: its differences mean something. A gauge is a value by itself.
        source: The kernel interface.
        estimated: Whether a model says so, and no meter.
        time_s: When, on the agent's clock, in s.
        error: Why there is no value.
    """

    name: str
    at: str
    value: float | None
    kind: Literal["counter", "gauge"]
    source: str
    estimated: bool
    time_s: float
    error: str | None


@dataclass(frozen=True, slots=True)
class Change:
    """What one write changed (`effective` is read back), or would change (`effective` is None)."""

    knob: str
    before: Value
    requested: Value
    effective: Value | None


@dataclass(frozen=True, slots=True)
class Applied:
    """What an apply did.

    Attributes:
        changes: Every place that was asked for.
        setting: The effective values by the names that were asked for; None where the places of a name differ, and
            for a name that is in no place held.
    """

    changes: tuple[Change, ...]
    setting: Mapping[str, Value | None]


@dataclass(frozen=True, slots=True)
class Restored:
    """What became of the knobs that were held, by instance.

    Attributes:
        restored: They have their original value back.
        latched: The kernel refused it; why.
        stood_down: Somebody else had changed them, so they were left alone.
    """

    restored: tuple[str, ...]
    latched: Mapping[str, str]
    stood_down: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One check of the doctor."""

    check: str
    status: Literal["ok", "note", "missing", "blocker"]
    found: str
    why: str
    remedy: str | None


def decode(what: str, build: Callable[[Any], T], answer: object) -> T:
    """Builds a message from decoded JSON.

    Raises:
        UnsupportedError: the answer has another shape: the agent's version is not ours.
    """
    try:
        return build(answer)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnsupportedError(
            wrong=f"bayop {__version__} cannot read the agent's answer to {what} ({type(error).__name__}: {error})",
            value=f"{type(error).__name__}: {error}",
            hint="install the same version of bayop and bayop-agent",
        ) from error


def status(answer: Json) -> Status:
    """`GET /v1/status`."""
    lease = answer["lease"]
    held = tuple(
        Held(h["knob"], h["found"], h["requested"], h["effective"], h["state"], h["reason"]) for h in answer["held"]
    )
    return Status(
        version=answer["version"],
        mode=answer["mode"],
        lease=_tenure(lease),
        lease_ends_s=None if lease is None else float(lease["expires_in_s"]),
        kept=bool(answer["kept"]),
        applied_by=_tenure(answer["applied_by"]),
        held=held,
        damage=answer["damage"],
    )


def knobs(answer: Json) -> MachineKnobs:
    """`GET /v1/knobs`."""
    known = tuple(
        MachineKnob(k["id"], k["summary"], k["unit"], k["safest"], tuple(map(_place, k["places"])))
        for k in answer["knobs"]
    )
    return MachineKnobs(known, {m["id"]: _reason(m["error"]) for m in answer["missing"]})


def sensors(answer: Json) -> tuple[Reading, ...]:
    """`GET /v1/sensors`."""
    return tuple(
        Reading(
            name=r["name"],
            at=r["at"],
            value=None if r["value"] is None else float(r["value"]),
            kind=r["kind"],
            source=r["source"],
            estimated=bool(r["estimated"]),
            time_s=float(r["time_s"]),
            error=_reason(r["error"]),
        )
        for r in answer["readings"]
    )


def applied(answer: Json) -> Applied:
    """`POST /v1/apply`."""
    changes = tuple(Change(c["knob"], c["before"], c["requested"], c["effective"]) for c in answer["changes"])
    return Applied(changes, dict(answer["setting"]))


def restored(answer: Json) -> Restored:
    """`POST /v1/release` and `POST /v1/restore`."""
    latched = {latched["knob"]: latched["reason"] for latched in answer["latched"]}
    return Restored(tuple(answer["restored"]), latched, tuple(answer["stood_down"]))


def findings(answer: Json) -> tuple[Finding, ...]:
    """`GET /v1/doctor`."""
    return tuple(Finding(f["check"], f["status"], f["found"], f["why"], f["remedy"]) for f in answer["findings"])


def _tenure(answer: Json | None) -> Tenure | None:
    return None if answer is None else Tenure(answer["holder"], float(answer["age_s"]))


def _place(place: Json) -> Place:
    allowed = place["allowed"]
    return Place(
        place["at"],
        _domain(place["domain"]),
        None if allowed is None else _domain(allowed),
        place["effective"],
        _reason(place["error"]),
    )


def _domain(domain: Json) -> Domain:
    if "steps" in domain:
        steps = domain["steps"]
        reserved = tuple((kept["low"], kept["high"]) for kept in steps["reserved"])
        return Steps(steps["low"], steps["high"], steps["step"], reserved)
    return Choices(tuple(domain["choices"]))


def _reason(error: Any) -> Any:  # noqa: ANN401 -- null, a sentence, or an error of the agent
    """An error inside an answer, on one line."""
    if not isinstance(error, dict):
        return error
    return BayopError(error["rule"], wrong=error["wrong"], value=error["value"], place=error["place"]).message
