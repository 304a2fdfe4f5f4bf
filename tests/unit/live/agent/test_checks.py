"""What must be true of an agent and of its answers; somebody else's writes are tested with the targets."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.agents import AgentProcess, Machine

from bayop.errors import DriftError, UnsupportedError
from bayop.live.agent.checks import check_applies, check_restored
from bayop.live.agent.messages import Latched, Released


@pytest.mark.parametrize("mode", ["observe", "advise"])
def test_an_agent_that_only_looks_is_refused(agent_binary: Path, tmp_path: Path, machine: Machine, mode: str) -> None:
    with AgentProcess(agent_binary, tmp_path, machine.root, mode=mode) as agent:
        with pytest.raises(UnsupportedError, match="the agent must be in mode apply") as caught:
            check_applies(agent.client)
        assert (caught.value.value, caught.value.place) == (f"mode {mode}", str(agent.client.address))
        assert 'set mode = "apply"' in str(caught.value.hint)


def test_a_machine_whose_values_are_latched_is_not_restored() -> None:
    check_restored(Released(("power.cap_w",), (), ()))
    with pytest.raises(DriftError, match="not every knob has its original value back: a@x: busy; b@y: gone") as caught:
        check_restored(Released((), (Latched("a@x", "busy"), Latched("b@y", "gone")), ()))
    assert "bayop-agent restore" in str(caught.value.hint)
