from __future__ import annotations

import pytest

from bayop.control.guard import Guard
from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.objective import Objective
from bayop.optimize.base import Observation
from bayop.slo import Slo
from bayop.space import FREQ_MHZ, RX_USECS, Setting
from bayop.testing.fakes import papers_space

SPACE, SLO = papers_space(), Slo.parse("p99<500us")
HELD: Setting = {RX_USECS: 300, FREQ_MHZ: 1500}
FASTEST: Setting = {RX_USECS: 2, FREQ_MHZ: 2900}


def observe(setting: Setting, latency_us: float, power_w: float, qps: float = 1000.0) -> Observation:
    return Observation(setting, Measurement({"p99_us": latency_us, "power_w": power_w}), qps)


def fall_back(*observations: Observation, held: Setting | None = HELD) -> Setting | None:
    return Guard().fall_back(SPACE, Objective.parse("power", SLO), 1000.0, held, observations)


def test_with_nothing_known_it_is_the_fastest_setting() -> None:
    safer = fall_back()
    assert safer is not None
    assert dict(safer) == FASTEST


def test_the_cheapest_setting_known_to_be_safe_is_better() -> None:
    dear, cheap = {RX_USECS: 2, FREQ_MHZ: 2500}, {RX_USECS: 100, FREQ_MHZ: 1800}
    assert fall_back(observe(dear, 100, 120), observe(cheap, 300, 80)) == cheap


def test_what_is_cheapest_goes_by_the_objective() -> None:
    """On a machine without a power meter, too."""
    many, few = ({RX_USECS: 2, FREQ_MHZ: 2500}, 2000.0), ({RX_USECS: 100, FREQ_MHZ: 1800}, 1000.0)
    known = [
        Observation(setting, Measurement({"p99_us": 100.0, "net_rx_per_s": rate}), 1000.0)
        for setting, rate in (many, few)
    ]
    objective = Objective.parse("net_rx_per_s", SLO)
    assert Guard().fall_back(SPACE, objective, 1000.0, HELD, known) == few[0]


@pytest.mark.parametrize(
    ("latency_us", "qps"),
    [(460.0, 1000.0), (300.0, 900.0)],
    ids=["too near the limit", "seen at a lower load only"],
)
def test_what_is_not_known_to_be_safe_is_not_chosen(latency_us: float, qps: float) -> None:
    safer = fall_back(observe({RX_USECS: 100, FREQ_MHZ: 1800}, latency_us, 80, qps))
    assert safer is not None
    assert dict(safer) == FASTEST


def test_a_setting_seen_safe_at_a_higher_load_is_safe_here() -> None:
    setting = {RX_USECS: 100, FREQ_MHZ: 1800}
    assert fall_back(observe(setting, 300, 80, qps=2000.0)) == setting


def test_a_setting_that_also_missed_the_slo_at_a_lower_load_is_not_trusted() -> None:
    setting = {RX_USECS: 100, FREQ_MHZ: 1800}
    safer = fall_back(observe(setting, 300, 80), observe(setting, 600, 80, qps=500.0))
    assert safer is not None
    assert dict(safer) == FASTEST


def test_the_setting_that_just_missed_the_slo_is_never_the_answer() -> None:
    safer = fall_back(observe(HELD, 300, 60))
    assert safer is not None
    assert dict(safer) == FASTEST


def test_when_the_fastest_setting_misses_there_is_nothing_safer() -> None:
    assert fall_back(held=FASTEST) is None


def test_a_default_that_misses_is_left_for_the_fastest_setting() -> None:
    assert fall_back(held=None) is not None


@pytest.mark.parametrize("margin", [0.0, 1.1])
def test_a_margin_is_a_share(margin: float) -> None:
    with pytest.raises(InputError):
        Guard(margin)
