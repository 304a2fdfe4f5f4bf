"""The agent's answers as data; the agent itself says them in the end-to-end tests."""

from __future__ import annotations

import pytest

from bayop.errors import UnsupportedError
from bayop.live.agent import messages
from bayop.space import Choices, Steps


def test_a_place_tells_what_it_takes_and_why_it_is_silent() -> None:
    parts = {"rule": None, "value": None, "hint": None, "kind": "unsupported"}
    error = {"wrong": "no driver has it", "place": "/sys/x", **parts}
    reserved = [{"low": 1, "high": 9, "meaning": "the driver moderates adaptively"}]
    steps = {"steps": {"low": 0, "high": 1000, "step": 1, "reserved": reserved}}
    places = [
        {"at": "eth0", "domain": steps, "allowed": None, "effective": 3, "error": None},
        {"at": "eth1", "domain": steps, "allowed": {"choices": [1, 2]}, "effective": None, "error": error},
    ]
    answer = {
        "knobs": [{"id": "nic.rx_usecs", "summary": "S", "unit": "us", "safest": "low", "places": places}],
        "missing": [{"id": "power.cap_w", "error": error}, {"id": "cpu.epp", "error": {**error, "place": None}}],
    }
    machine = messages.decode("/v1/knobs", messages.knobs, answer)
    first, second = machine.knobs[0].places
    assert (first.domain, first.allowed, first.effective) == (Steps(0, 1000, 1, ((1, 9),)), None, 3)
    assert (second.allowed, second.error) == (Choices((1, 2)), "no driver has it (/sys/x)")
    assert machine.missing == {"power.cap_w": "no driver has it (/sys/x)", "cpu.epp": "no driver has it"}


@pytest.mark.parametrize("answer", [None, [], {}, {"knobs": 3, "missing": []}, {"knobs": [{}], "missing": []}])
def test_another_versions_answer_is_refused_and_not_guessed_at(answer: object) -> None:
    with pytest.raises(UnsupportedError, match="cannot read the agent's answer to /v1/knobs") as caught:
        messages.decode("/v1/knobs", messages.knobs, answer)
    assert "same version" in str(caught.value.hint)
