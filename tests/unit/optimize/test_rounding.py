from __future__ import annotations

import pytest

from bayop.domains import Steps, Value
from bayop.optimize.grey_box import GreyBox
from bayop.optimize.rounding import Rounding
from bayop.search import run_search
from bayop.space import AUTO, FREQ_MHZ, RX_USECS, Setting
from bayop.testing.fakes import FakeServer, make_problem, nic_and_cpu_space

ROUNDED: tuple[tuple[Value, Value], ...] = (
    (49, 49), (50, 50), (51, 50), (64, 50), (71, 50), (72, 72), (511, 511), (700, 512), (1000, 512), (1244, 512),
    (1245, 1245), (AUTO, AUTO),
)  # fmt: skip


@pytest.mark.parametrize(("asked", "effective"), ROUNDED)
def test_what_lies_between_has_the_same_effect_and_a_little_beyond_too(asked: Value, effective: Value) -> None:
    rounding = Rounding()
    rounding.learn({RX_USECS: 64, FREQ_MHZ: 2900}, {RX_USECS: 50, FREQ_MHZ: 2900})
    rounding.learn({RX_USECS: 1000, FREQ_MHZ: 2900}, {RX_USECS: 512, FREQ_MHZ: 2900})
    assert rounding.of({RX_USECS: asked, FREQ_MHZ: 2000}) == {RX_USECS: effective, FREQ_MHZ: 2000}


def test_what_was_seen_comes_before_what_is_likely() -> None:
    rounding = Rounding()
    rounding.learn({RX_USECS: 100}, {RX_USECS: 50})
    assert rounding.of({RX_USECS: 110}) == {RX_USECS: 50}
    rounding.learn({RX_USECS: 110}, {RX_USECS: 110})
    rounding.learn({RX_USECS: 120}, {RX_USECS: 115})
    assert [rounding.of({RX_USECS: us})[RX_USECS] for us in (100, 109, 110, 116)] == [50, 50, 110, 115]


def test_values_that_a_driver_takes_as_they_are_stay() -> None:
    rounding = Rounding()
    setting: Setting = {RX_USECS: 64, "idle.governor": "menu"}
    rounding.learn(setting, setting)
    assert rounding.of(setting) is setting
    rounding.learn(setting, {RX_USECS: AUTO, "idle.governor": "teo"})
    assert rounding.of(setting) is setting


class CoarseServer(FakeServer):
    """A driver that knows four delays, and takes the one below what it is asked for."""

    def apply(self, setting: Setting) -> Setting:
        delay_us = max(step_us for step_us in (0, 50, 200, 300) if step_us <= float(setting[RX_USECS]))
        return super().apply({**setting, RX_USECS: delay_us})


@pytest.mark.parametrize("slo", ["p99<250us", "p99<400us"])
def test_a_search_does_not_ask_for_the_same_effect_again_and_again(slo: str) -> None:
    space = nic_and_cpu_space(Steps(0, 400, 1), Steps(1300, 2900, 100), auto=False)
    problem = make_problem(space, slo=slo)
    result = run_search(CoarseServer(space), problem, GreyBox(problem), max_trials=25)
    assert result.stopped == "converged"
    repeats = [dict(t.setting) for t in result.trials]
    assert max(map(repeats.count, repeats)) <= 2
