"""What can run on a machine, verb by verb, from what the doctor and the agent say. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bayop.live.agent.messages import Finding, MachineKnobs, Status
from bayop.live.space import is_writable
from bayop.space import FREQ_MHZ, RX_USECS

OFFLINE: Final = ("twin", "study", "demo", "sweep", "report")
"""Verbs that need no machine, among others."""

METER: Final = "power meter"
"""The doctor's check of what the machine draws."""


@dataclass(frozen=True, slots=True)
class AgentView:
    """What an agent says of itself and of its machine's knobs."""

    status: Status
    knobs: MachineKnobs


@dataclass(frozen=True, slots=True)
class Ability:
    """Whether verbs can run.

    Attributes:
        verbs: `tune`, or several that need the same.
        reasons: What keeps them from running; none when they can.
        remarks: What should be known, such as what is estimated.
        live: Whether they run on a real machine.
    """

    verbs: tuple[str, ...]
    reasons: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    live: bool = True

    @property
    def can(self) -> bool:
        """Whether nothing keeps them from running."""
        return not self.reasons

    def sentence(self) -> str:
        """`can't: no agent answers. Power is estimated`."""
        remarks = "; ".join(self.remarks)
        if self.can:
            return f"can: {remarks}" if remarks else "can"
        return f"can't: {'; '.join(self.reasons)}" + (f". {remarks[:1].upper()}{remarks[1:]}" if remarks else "")


def finding_of(findings: Sequence[Finding], check: str) -> Finding | None:
    """What a check has found."""
    return next((finding for finding in findings if finding.check == check), None)


def judge_tune(findings: Sequence[Finding], agent: AgentView | str | None) -> Ability:
    """Whether `bayop tune` can search the machine that was examined.

    Args:
        findings: Those of the machine.
        agent: What its agent says, or why there is none; None for a machine that is only recorded.
    """
    reasons = [f"{finding.check}: {finding.found}" for finding in findings if finding.status == "blocker"]
    remarks = []
    if isinstance(agent, AgentView):
        reasons += _refusals(agent)
        remarks += _search_remarks(findings, agent)
    elif agent is not None:
        reasons.append(agent)
    elif not reasons:
        remarks.append("with an agent on it that allows knobs")
    meter = finding_of(findings, METER)
    if meter is not None and meter.status == "note":
        remarks.append("power is an estimate from utilization")
    elif meter is not None and meter.status != "ok":
        if isinstance(agent, AgentView):
            reasons.append("no power meter, and no [power.model] in agent.toml to estimate power by")
        else:
            remarks.append("no power meter: it would be an estimate from utilization, by [power.model] in agent.toml")
    return Ability(("tune",), tuple(reasons), tuple(remarks))


def judge_live(missing: str | None) -> Ability:
    """Whether `bayop live` can make its own namespaces here; `missing` is why not."""
    if missing is not None:
        return Ability(("live",), (missing,))
    return Ability(("live",), (), ("on a memcached of its own, in namespaces of this machine; power is estimated",))


def judge_offline() -> Ability:
    """The verbs that need no machine."""
    return Ability(OFFLINE, (), ("on models and recorded measurements",), live=False)


def _refusals(agent: AgentView) -> list[str]:
    """Why the agent would not apply a setting."""
    status = agent.status
    reasons = []
    if status.mode != "apply":
        reasons.append(f'the agent is in mode {status.mode}: set mode = "apply" in agent.toml')
    if not _allowed(agent.knobs):
        reasons.append("the agent allows none of this machine's knobs: add [allow] tables to agent.toml")
    if status.lease is not None:
        reasons.append(f"{status.lease.holder} holds the lease")
    if status.damage is not None:
        reasons.append(status.damage)
    reasons += [f"{held.knob} could not be restored" for held in status.held if held.state == "latched"]
    return reasons


def _search_remarks(findings: Sequence[Finding], agent: AgentView) -> list[str]:
    """Which knobs a search turns where nobody says, and why not all of the papers'."""
    allowed = _allowed(agent.knobs)
    if not allowed:
        return []
    remarks = [f"it searches {' and '.join(allowed)}"]
    for knob_id in (RX_USECS, FREQ_MHZ):
        knob = finding_of(findings, f"knob {knob_id}")
        if knob is not None and knob.status == "missing":
            remarks.append(f"this machine has no {knob_id}")
        elif knob_id not in allowed:
            remarks.append(f"the agent does not allow {knob_id}")
    return remarks


def _allowed(machine: MachineKnobs) -> list[str]:
    return [knob.id for knob in machine.knobs if is_writable(knob)]
