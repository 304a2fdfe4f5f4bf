"""The target passes the suite of all targets, and its noise is what its traits say."""

from __future__ import annotations

import math
import statistics

import pytest
from bench.unknown.drawing import draw_server
from bench.unknown.target import ServerTarget

from bayop.space import fastest_setting
from bayop.testing.targets import TargetContract

WINDOWS = 400


def logs(scenario: str, quantity: str = "p99_us") -> list[float]:
    """Logarithms of measurements over the truth, of one setting."""
    server = draw_server(scenario, 0)
    target = ServerTarget(server, seed=0)
    setting = target.apply(fastest_setting(server.space))
    truth = target.truth(setting)._asdict()[quantity]
    return [math.log(target.measure()[quantity] / truth) for _ in range(WINDOWS)]


class TestServer(TargetContract):
    def make(self, *, seed: int) -> ServerTarget:
        return ServerTarget(draw_server("as the prior expects", 1), seed=seed)


class TestRoundingServer(TargetContract):
    def make(self, *, seed: int) -> ServerTarget:
        return ServerTarget(draw_server("rounding driver", 1), seed=seed)


@pytest.mark.parametrize(
    ("scenario", "latency_sd", "told"),
    [
        ("as the prior expects", 0.02, 0.02),
        ("noise 10 %, reported", 0.1, 0.1),
        ("noise 10 %, reported as 2 %", 0.1, 0.02),
    ],
)
def test_noise_is_as_large_as_the_scenario_says_and_told_as_it_says(
    scenario: str, latency_sd: float, told: float
) -> None:
    assert statistics.stdev(logs(scenario)) == pytest.approx(latency_sd, rel=0.15)
    assert statistics.stdev(logs(scenario, "power_w")) == pytest.approx(latency_sd / 5.0, rel=0.15)
    assert ServerTarget(draw_server(scenario, 0), seed=0).baseline().relative_sd["p99_us"] == pytest.approx(told)


def test_one_window_in_20_is_five_times_off() -> None:
    wild = [x for x in logs("one window in 20 five times off") if abs(x) > 1.0]
    assert len(wild) == pytest.approx(WINDOWS / 20, abs=12)
    assert {round(math.exp(abs(x))) for x in wild} <= {4, 5, 6}
    assert min(wild) < 0.0 < max(wild)


def test_drift_goes_on_from_window_to_window() -> None:
    power = logs("drift", "power_w")[:100]
    early, late = statistics.fmean(power[:10]), statistics.fmean(power[-10:])
    assert abs(late - early) > 0.05
