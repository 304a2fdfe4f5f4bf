"""What an agent says, as data.

Fields are those of the agent's OpenAPI description (docs/reference/agent-openapi.json), as far as the brain reads them:
a test holds every message here against it. What a newer agent says beyond that is passed over.
"""

from __future__ import annotations

from typing import Literal, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from bayop import __version__
from bayop.domains import Choices, Steps, Value
from bayop.errors import BayopError, UnsupportedError
from bayop.json_text import Count, decoder
from bayop.space import Safest

T = TypeVar("T")


class Cause(msgspec.Struct, frozen=True):
    """An error of the agent, in the parts of a `BayopError`."""

    wrong: str | None
    rule: str | None
    value: str | None
    place: str | None
    hint: str | None

    def to(self, kind: type[BayopError]) -> BayopError:
        """As an error of ours."""
        return kind(self.rule, wrong=self.wrong, value=self.value, place=self.place, hint=self.hint)

    def __str__(self) -> str:
        return self.to(BayopError).message


class Refusal(Cause, frozen=True):
    """Why the agent does not do what it was asked."""

    kind: Literal["input", "forbidden", "not_found", "conflict", "too_large", "failed", "unsupported", "drift"]


class Failure(msgspec.Struct, frozen=True):
    """How every request that fails is answered."""

    error: Refusal


class HeldKnob(msgspec.Struct, frozen=True):
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


class AppliedBy(msgspec.Struct, frozen=True):
    """Whose setting is in effect: who, in its own words, and how long ago it applied its first one, in s."""

    holder: str
    age_s: float


class LeaseInForce(msgspec.Struct, frozen=True):
    """The right to write, and who has it, in its own words.

    Attributes:
        age_s: How long ago it was granted, in s.
        expires_in_s: In how many s it ends unless it is renewed.
    """

    holder: str
    age_s: float
    expires_in_s: float


class LatencyLimit(msgspec.Struct, frozen=True):
    """A quantile of the latency that clients see stays below a limit, and somebody pushes it.

    Attributes:
        quantity: `p99_us`. A lower quantile above the limit breaks it too.
        limit_us: The limit, in us.
        silence_s: How old the last push that names the quantity may be: 0.5 to 3600 s.
        settle_s: So long after the hold's beginning pushes are signs of life only, since they are about the setting
            before: 0 to 60 s.
    """

    quantity: str
    limit_us: float
    silence_s: float
    settle_s: float = 0.0


class LoadBand(msgspec.Struct, frozen=True):
    """The packets/s that a network device receives, as a mean of `window_s` (0.5 to 60 s), stay in a band."""

    device: str
    low_packets_per_s: float
    high_packets_per_s: float
    window_s: float = 1.0


class Conditions(msgspec.Struct, frozen=True):
    """What has to be so while a setting is held; at least one of them.

    Attributes:
        latency: What clients see, as it is pushed.
        load: What the machine is asked, by its own counter.
        longest_s: How long the setting is held at most, in s.
    """

    latency: LatencyLimit | None = None
    load: LoadBand | None = None
    longest_s: float | None = None


class Pushed(msgspec.Struct, frozen=True):
    """The watched quantity as it was pushed last, in us, and how long ago, in s."""

    latency_us: float
    age_s: float


Condition = Literal["latency", "silence", "load", "time"]
"""Of a hold."""


class FellBack(msgspec.Struct, frozen=True):
    """Why and how a hold gave way to its fall-back.

    Attributes:
        condition: Which condition broke.
        seen: What was seen, for people.
        age_s: How long ago, in s.
        took_s: How long it took from then until the fall-back was in effect, in s.
        error: Why the fall-back is not in effect; the machine was restored then, and the lease ended.
    """

    condition: Condition
    seen: str
    age_s: float
    took_s: float
    error: Cause | None


class HoldInForce(msgspec.Struct, frozen=True):
    """A setting that is held under conditions, or was until one of them broke.

    Attributes:
        setting: What was asked.
        fall_back: What takes its place; nothing in it is the machine's own setting.
        conditions: What has to be so.
        age_s: How long ago it began, in s.
        latest: The last push that named the watched quantity.
        packets_per_s: The load, once its window is over.
        fell_back: How it gave way; None while the setting is held.
    """

    setting: dict[str, Value]
    fall_back: dict[str, Value]
    conditions: Conditions
    age_s: float
    latest: Pushed | None
    packets_per_s: float | None
    fell_back: FellBack | None


class Holding(msgspec.Struct, frozen=True):
    """`GET /v1/hold`: the hold under conditions, if there is one."""

    hold: HoldInForce | None


class Status(msgspec.Struct, frozen=True):
    """`GET /v1/status`: what an agent is doing.

    Attributes:
        version: The agent's.
        mode: How far it goes.
        lease: Who may write now; None when nobody.
        kept: Whether what is held stays without a lease.
        applied_by: Whose setting is in effect; None when nothing was applied since the last restore.
        held: The knobs that are held, or could not be restored.
        hold: The conditions under which they are; None when there are none.
        damage: Why nothing may be applied before a person has looked at the machine.
    """

    version: str
    mode: Literal["observe", "advise", "apply"]
    lease: LeaseInForce | None
    kept: bool
    applied_by: AppliedBy | None
    held: tuple[HeldKnob, ...]
    hold: HoldInForce | None
    damage: str | None

    @property
    def lease_holder(self) -> str | None:
        """Who may write now, in its own words."""
        return None if self.lease is None else self.lease.holder


class Reserved(msgspec.Struct, frozen=True):
    """Numbers that a driver keeps for itself, ends included."""

    low: int
    high: int


class Numbers(msgspec.Struct, frozen=True):
    """Numbers from `low` to `high`, both included, in steps."""

    low: float
    high: float
    step: float
    reserved: tuple[Reserved, ...]


class Domain(msgspec.Struct, frozen=True):
    """The values that a knob takes: numbers in steps, or those listed."""

    steps: Numbers | UnsetType = UNSET
    choices: tuple[Value, ...] | UnsetType = UNSET

    def __post_init__(self) -> None:
        if (self.steps is UNSET) == (self.choices is UNSET):
            raise ValueError("a domain must have either steps or choices")

    @property
    def values(self) -> Steps | Choices:
        """As a knob of a space has them."""
        if isinstance(self.steps, Numbers):
            reserved = tuple((kept.low, kept.high) for kept in self.steps.reserved)
            return Steps(self.steps.low, self.steps.high, self.steps.step, reserved)
        return Choices(self.choices or ())


class Place(msgspec.Struct, frozen=True):
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
    error: Cause | None


class MachineKnob(msgspec.Struct, frozen=True):
    """A knob of the catalogue with its places on one machine."""

    id: str
    summary: str
    unit: str | None
    safest: Safest | None
    places: tuple[Place, ...]


class MissingKnob(msgspec.Struct, frozen=True):
    """A knob of the catalogue that the machine does not have."""

    id: str
    error: Cause


class MachineKnobs(msgspec.Struct, frozen=True):
    """`GET /v1/knobs`: every knob of the catalogue, those that the machine has and the others."""

    knobs: tuple[MachineKnob, ...]
    missing: tuple[MissingKnob, ...]

    @property
    def why_missing(self) -> dict[str, str]:
        """Why the machine does not have the others, by id."""
        return {knob.id: str(knob.error) for knob in self.missing}


class Reading(msgspec.Struct, frozen=True):
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
    error: Cause | None


class Readings(msgspec.Struct, frozen=True):
    """`GET /v1/sensors`."""

    readings: tuple[Reading, ...]


class Stays(msgspec.Struct, frozen=True):
    """`GET /v1/idle`: all stays of CPUs in idle states since a counting began.

    Attributes:
        states: Name, exit latency and target residency (us) of each, from the shallowest on.
        bounds_us: The shortest length of each bin.
        began_s: When the counting began: it tells one from another.
        duration_s: How long it has gone on.
        stays: CPU, state, bin, and how many.
    """

    states: tuple[tuple[str, Count, Count], ...]
    bounds_us: tuple[float, ...]
    began_s: float
    duration_s: float
    stays: tuple[tuple[Count, Count, Count, Count], ...]

    def __post_init__(self) -> None:
        if any(state >= len(self.states) or bin_ >= len(self.bounds_us) for _, state, bin_, _ in self.stays):
            raise ValueError("every stay must be of a state and a bin")


class Change(msgspec.Struct, frozen=True):
    """What one write changed (`effective` is read back), or would change (`effective` is None)."""

    knob: str
    before: Value
    requested: Value
    effective: Value | None


class Applied(msgspec.Struct, frozen=True):
    """`POST /v1/apply`: what it did.

    Attributes:
        changes: Every place that was asked for.
        setting: The effective values by the names that were asked for; None where the places of a name differ, and
            for a name that is in no place held.
    """

    changes: tuple[Change, ...]
    setting: dict[str, Value | None]


class Latched(msgspec.Struct, frozen=True):
    """A knob in one place that the kernel did not take back, and why."""

    knob: str
    reason: str


class Released(msgspec.Struct, frozen=True):
    """`POST /v1/release` and `POST /v1/restore`: what became of the knobs that were held.

    Attributes:
        restored: They have their original value back.
        latched: The kernel refused it.
        stood_down: Somebody else had changed them, so they were left alone.
    """

    restored: tuple[str, ...]
    latched: tuple[Latched, ...]
    stood_down: tuple[str, ...]


class Finding(msgspec.Struct, frozen=True):
    """One check of the doctor."""

    check: str
    status: Literal["ok", "note", "missing", "blocker"]
    found: str
    why: str
    remedy: str | None


class Examination(msgspec.Struct, frozen=True):
    """`GET /v1/doctor`."""

    findings: tuple[Finding, ...]


class Lease(msgspec.Struct, frozen=True):
    """`POST /v1/lease`: the secret that proves the right to write."""

    lease: str


class Calibration(msgspec.Struct, frozen=True):
    """What a NIC makes of requested delays; only whose it is matters here."""

    device: str


class Calibrations(msgspec.Struct, frozen=True):
    """`GET /v1/calibration`."""

    calibrations: tuple[Calibration, ...]


class Done(msgspec.Struct, frozen=True):
    """Any answer of which nothing is read but that it came."""


def decode(what: str, text: bytes, answer: type[T]) -> T:
    """A message from its JSON.

    Raises:
        UnsupportedError: the answer has another shape: the agent's version is not ours.
        ValueError: it is no JSON.
    """
    try:
        return decoder(answer).decode(text)
    except msgspec.ValidationError as error:
        raise UnsupportedError(
            wrong=f"bayop {__version__} cannot read the agent's answer to {what} ({error})",
            value=str(error),
            hint="install the same version of bayop and bayop-agent",
        ) from error
