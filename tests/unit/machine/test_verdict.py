"""What the findings and the agent let run."""

from __future__ import annotations

import msgspec
import pytest

from bayop.live.agent.messages import (
    Domain,
    Finding,
    HeldKnob,
    LeaseInForce,
    MachineKnob,
    MachineKnobs,
    Numbers,
    Place,
    Status,
)
from bayop.machine.verdict import AgentView, judge_live, judge_offline, judge_tune

STATUS = Status("0.1.0", "apply", None, kept=False, applied_by=None, held=(), hold=None, damage=None)
METER = Finding("power meter", "ok", "powercap: package-0", "power is what BayOp minimises", None)
NO_METER = Finding("power meter", "missing", "power", "", None)
MODEL = Finding("power meter", "note", "model, an estimate from utilization", "", None)
NO_FREQUENCY = Finding("knob cpu.freq_mhz", "missing", "/sys", "", None)
DOMAIN = Domain(Numbers(0, 100, 1, ()))


def knobs(*allowed: str, other: str = "idle.governor") -> MachineKnobs:
    def knob(knob_id: str, domain: Domain | None) -> MachineKnob:
        return MachineKnob(knob_id, "", None, "low", (Place("eth0", DOMAIN, domain, 1, None),))

    return MachineKnobs((*(knob(i, DOMAIN) for i in allowed), knob(other, None)), ())


BOTH = AgentView(STATUS, knobs("nic.rx_usecs", "cpu.freq_mhz"))


def test_an_agent_that_allows_the_papers_knobs_and_a_meter_are_all_it_takes() -> None:
    ability = judge_tune([METER], BOTH)
    assert ability.can
    assert ability.sentence() == "can: it searches nic.rx_usecs and cpu.freq_mhz"


def test_without_an_agent_nothing_is_tuned_and_a_missing_meter_is_no_blocker() -> None:
    ability = judge_tune([NO_METER], "no agent answers at /run/bayop/agent.sock")
    assert ability.reasons == ("no agent answers at /run/bayop/agent.sock",)
    sentence = (
        "can't: no agent answers at /run/bayop/agent.sock. No power meter: it would be an estimate from utilization"
    )
    assert ability.sentence().startswith(sentence)


def test_an_agent_with_neither_meter_nor_model_can_t_and_one_with_a_model_estimates() -> None:
    assert "no [power.model] in agent.toml" in judge_tune([NO_METER], BOTH).reasons[0]
    estimated = judge_tune([MODEL], BOTH)
    assert estimated.can
    assert "power is an estimate from utilization" in estimated.remarks


def test_what_is_searched_and_what_is_not_is_said() -> None:
    ability = judge_tune([METER, NO_FREQUENCY], AgentView(STATUS, knobs("nic.rx_usecs")))
    assert ability.remarks == ("it searches nic.rx_usecs", "this machine has no cpu.freq_mhz")
    ability = judge_tune([METER], AgentView(STATUS, knobs("cpu.freq_mhz")))
    assert ability.remarks == ("it searches cpu.freq_mhz", "the agent does not allow nic.rx_usecs")
    ability = judge_tune([METER], AgentView(STATUS, knobs("power.cap_w", "cpu.epp")))
    assert ability.can
    assert ability.remarks[0] == "it searches power.cap_w and cpu.epp"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mode": "observe"}, "mode observe"),
        ({"lease": LeaseInForce("bob", 3.0, 7.0)}, "bob holds the lease"),
        ({"damage": "the journal was damaged"}, "the journal was damaged"),
        ({"held": (HeldKnob("a@b", 1, 2, None, "latched", "gone"),)}, "a@b could not be restored"),
    ],
)
def test_an_agent_that_would_refuse_says_why(change: dict[str, object], message: str) -> None:
    status = msgspec.structs.replace(STATUS, **change)
    (reason,) = judge_tune([METER], AgentView(status, BOTH.knobs)).reasons
    assert message in reason


def test_an_empty_allow_list_is_a_reason() -> None:
    (reason,) = judge_tune([METER], AgentView(STATUS, knobs())).reasons
    assert "allows none of this machine's knobs" in reason


def test_a_blocker_blocks_with_or_without_an_agent() -> None:
    blocker = Finding("knobs", "blocker", "none of the knobs asked for", "", None)
    for agent in (BOTH, None):
        assert "knobs: none of the knobs asked for" in judge_tune([METER, blocker], agent).reasons
    assert judge_tune([METER], None).can, "a recorded machine has no agent to ask"


def test_live_needs_what_its_namespaces_need_and_models_need_nothing() -> None:
    assert judge_live(None).can
    assert judge_live("network namespaces need root").reasons == ("network namespaces need root",)
    assert judge_offline().can
    assert not judge_offline().live
