"""A test of a machine's knobs: every allowed one, in every place, is set to two values, read back and restored."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import isclose
from time import perf_counter
from typing import TypeAlias

from bayop.domains import Choices, Steps, Value
from bayop.errors import BayopError, UnsupportedError
from bayop.live.agent.checks import check_applies, check_restored
from bayop.live.agent.client import AgentClient
from bayop.live.agent.lease import Lease
from bayop.live.agent.messages import MachineKnobs
from bayop.live.agent.transport import TIMEOUT_S, ConflictError, UnreachableError
from bayop.space import AUTO, RX_USECS


@dataclass(frozen=True, slots=True)
class Attempt:
    """One write.

    Attributes:
        asked: The value; `auto` for the original one.
        effective: What was read back; None when the write failed.
        duration_ms: How long the agent took, with reading back.
        error: Why it failed.
    """

    asked: Value
    effective: Value | None
    duration_ms: float
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Exercise:
    """One knob in one place.

    Attributes:
        knob: `nic.rx_usecs@eth0`.
        found: Its value before.
        attempts: The two values, or as many as it takes.
        restored: The write that put it back.
        calibrated: Whether what is read back passes through a calibration, so that it may differ from what was asked.
    """

    knob: str
    found: Value | None
    attempts: Sequence[Attempt]
    restored: Attempt
    calibrated: bool = False

    @property
    def failure(self) -> str | None:
        """What did not go as it should; None when all did."""
        for attempt in (*self.attempts, self.restored):
            if attempt.error is not None:
                return attempt.error
        for attempt in self.attempts:
            if not (self.calibrated or _is_same(attempt.effective, attempt.asked)):
                return f"asked for {attempt.asked}, reads {attempt.effective}"
        if not _is_same(self.restored.effective, self.found):
            return f"was {self.found}, is {self.restored.effective}"
        return None


Place: TypeAlias = tuple[str, Steps | Choices, Value | None]
"""A place of a knob: its name (`nic.rx_usecs@eth0`), what may be written there and what is in effect."""


def places(machine: MachineKnobs) -> list[Place]:
    """Every place that the agent's allow-list has."""
    return [
        (f"{knob.id}@{place.at}", place.allowed.values, place.effective)
        for knob in machine.knobs
        for place in knob.places
        if place.allowed is not None
    ]


def allowed_places(client: AgentClient) -> list[Place]:
    """What there is to exercise.

    Raises:
        UnsupportedError: the agent can't be reached, only looks, or allows no knob of its machine.
    """
    check_applies(client)
    allowed = places(client.knobs())
    if not allowed:
        raise UnsupportedError(
            "the allow-list must have a knob to exercise",
            wrong="the agent allows none of this machine's knobs",
            place=str(client.address),
            hint="bayop init writes an agent.toml that allows those of the NIC and the processors",
        )
    return allowed


def exercise(client: AgentClient, allowed: Sequence[Place], *, holder: str) -> Generator[Exercise]:
    """Exercises one place after the other. However it ends, the agent restores what it found.

    Args:
        client: The machine's agent, in mode apply.
        allowed: The places.
        holder: Who we are, as others read it in the agent's status.

    Raises:
        UnsupportedError: the agent can't be reached, or serves somebody else.
        DriftError: the lease was lost, or the kernel refused an original value at the end.
    """
    calibrated = client.calibrated()
    lease = Lease(client, holder=holder)
    try:
        for knob, domain, found in allowed:
            attempts = [_attempt(client, lease, knob, value) for value in two_values(domain, found)]
            restored = _attempt(client, lease, knob, AUTO)
            knob_id, _, at = knob.partition("@")
            is_calibrated = knob_id == RX_USECS and at.partition("/")[0] in calibrated
            yield Exercise(knob, found, attempts, restored, is_calibrated)
    finally:
        check_restored(lease.release(keep=False))


def two_values(domain: Steps | Choices, found: Value | None) -> tuple[Value, ...]:
    """Two values other than the one that was found, away from the ends; fewer where the domain has no more."""
    if not isinstance(domain, Steps):
        others = [value for value in domain.options if value != found]
        return tuple(others[:2] if len(others) > 1 else domain.options[:2])
    count = int((domain.high - domain.low) / domain.step + 1e-9)
    values: list[Value] = []
    # A third and two thirds of the way; where one of them can't be taken, the least that can.
    for index in chain((count // 3, 2 * count // 3), range(count + 1)):
        value = domain.low + index * domain.step
        if value != found and value not in values and domain.holds(value):
            values.append(value)
        if len(values) == 2:
            break
    return tuple(values)


def _is_same(one: Value | None, other: Value | None) -> bool:
    """Whether two values are equal, but for what a unit's conversion does to the last digit."""
    if isinstance(one, str) or isinstance(other, str) or one is None or other is None:
        return one == other
    return isclose(one, other, rel_tol=1e-9)


def _attempt(client: AgentClient, lease: Lease, knob: str, value: Value) -> Attempt:
    lease.expect(TIMEOUT_S)
    start_s = perf_counter()
    try:
        changes = client.apply({knob: value}, lease=lease.token).changes
    except UnreachableError:
        raise
    except BayopError as error:
        if isinstance(error, ConflictError):
            lease.check()
        return Attempt(value, None, _ms_since(start_s), error.message)
    effective = next((change.effective for change in changes if change.knob == knob), None)
    return Attempt(value, effective, _ms_since(start_s))


def _ms_since(start_s: float) -> float:
    return 1000.0 * (perf_counter() - start_s)
