"""The model's map: its axes, its numbers, and that it is made anew only when something was measured."""

from __future__ import annotations

import json
from typing import Any

from bayop import Knob, Measurement, Objective, Observation, Problem, Slo, Space, Steps
from bayop.daemon.web.content import Content
from bayop.daemon.web.map import Maps

SLO = Slo.parse("p99<500us")
CAP, DELAY, DEPTH = "power.cap_w", "nic.rx_usecs", "nic.rx_frames"


def space(*knobs: str) -> Space:
    made = {
        CAP: Knob(CAP, Steps(60, 120, 5), safest="high"),
        DELAY: Knob(DELAY, Steps(0, 400, 2), safest="low"),
        DEPTH: Knob(DEPTH, Steps(1, 64, 1), safest="low"),
    }
    return Space(tuple(made[knob] for knob in knobs))


def observation(**values: float) -> Observation:
    setting = {{"cap": CAP, "delay": DELAY, "depth": DEPTH}[name]: value for name, value in values.items()}
    cap_w, delay_us = values.get("cap", 120), values.get("delay", 0)
    window = Measurement({"power_w": cap_w - 0.01 * delay_us, "p99_us": 200 * (120 / cap_w) ** 2 + delay_us})
    return Observation(setting, window, qps=5000.0)


def problem(knobs: Space, *history: Observation) -> Problem:
    return Problem(knobs, SLO, Objective.parse("power", SLO), 5000.0, history)


def read(content: Content) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(content.body)
    return answer


def test_two_knobs_make_a_map() -> None:
    known = problem(space(DELAY, CAP), observation(cap=120, delay=0), observation(cap=90, delay=100))
    map_ = read(Maps().of("web", known))
    assert [axis["knob"] for axis in map_["axes"]] == [DELAY, CAP]
    assert (len(map_["cost"]), len(map_["cost"][0])) == (13, 24)
    assert map_["axes"][0]["values"][-1] == 400
    assert map_["cost"][0][0] < map_["cost"][-1][0], "a low cap draws less"
    assert map_["latency_us"][-1][0] < map_["limit_us"] < map_["latency_us"][0][-1]
    assert map_["fixed"] == {}


def test_one_knob_makes_a_curve() -> None:
    map_ = read(Maps().of("web", problem(space(CAP), observation(cap=120), observation(cap=90))))
    assert ([axis["knob"] for axis in map_["axes"]], len(map_["cost"])) == ([CAP], 1)


def test_of_many_knobs_those_are_shown_that_were_tried_most() -> None:
    seen = [observation(cap=120, delay=0, depth=4), observation(cap=120, delay=50, depth=8)]
    map_ = read(Maps().of("web", problem(space(CAP, DELAY, DEPTH), *seen)))
    assert ([axis["knob"] for axis in map_["axes"]], map_["fixed"]) == ([DELAY, DEPTH], {CAP: 120})


def test_a_map_is_made_anew_when_something_was_measured() -> None:
    maps, one = Maps(), observation(cap=120)
    first = maps.of("web", problem(space(CAP), one))
    assert maps.of("web", problem(space(CAP), one)) is first
    assert maps.of("web", problem(space(CAP), one, observation(cap=90))) is not first


def test_before_anything_was_measured_there_is_none() -> None:
    for known in (None, problem(space(CAP))):
        content = Maps().of("web", known)
        assert (content.status, content.body) == (204, b"")
