"""What is held after a search, and while the load changes."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from statistics import fmean

import pytest
from tests.support.searches import best_power_w

from bayop.domains import Steps
from bayop.measurement import Measurement
from bayop.optimize.base import Observation, Problem
from bayop.optimize.grey_box import GreyBox
from bayop.search import Result, run_search
from bayop.space import CAP_W, RX_USECS, Knob, Setting, Space
from bayop.testing.fakes import FakeServer, make_problem, papers_space

SPACE = papers_space()


def hold(server: FakeServer, problem: Problem, windows: int) -> tuple[Result, list[Setting]]:
    """A search and a hold after it; its result, and what was held."""
    held: list[Setting] = []
    result = run_search(
        server, problem, GreyBox(problem), max_trials=15, hold=windows, on_window=lambda w: held.append(w.setting)
    )
    return result, held


@pytest.mark.parametrize("qps", [100_000.0, 400_000.0, 700_000.0])
def test_a_hold_ends_nearer_to_the_best_than_the_search_and_breaks_nothing(qps: float) -> None:
    problem = make_problem(SPACE, slo="p99<400us", qps=qps)
    costs: dict[int, list[float]] = {0: [], 30: []}
    for seed, windows in product(range(3), costs):
        server = FakeServer(SPACE, qps=qps, seed=seed)
        result, held = hold(server, problem, windows)
        assert result.setting is not None
        costs[windows].append(server.truth(result.setting)["power_w"])
        latencies_us = [server.truth(s)[problem.slo.quantity] for s in held]
        assert sum(us > 1.02 * problem.slo.limit_us for us in latencies_us) == 0
    assert fmean(costs[30]) <= fmean(costs[0])
    assert fmean(costs[30]) <= 1.04 * best_power_w(FakeServer(SPACE, qps=qps), problem)


def test_a_hold_goes_up_by_a_notch_at_most() -> None:
    server, problem = FakeServer(SPACE, seed=1), make_problem(SPACE, slo="p99<400us")
    _, held = hold(server, problem, 20)
    latencies_us = [server.truth(s)[problem.slo.quantity] for s in held]
    assert all(b <= 1.25 * a for a, b in pairwise(latencies_us))
    assert len({tuple(s.values()) for s in held}) > 1


class Capped(FakeServer):
    """A server to whose power, which a cap decides, the delay does nothing."""

    def truth(self, setting: Setting) -> dict[str, float]:
        cap_w, delay_us = float(setting[CAP_W]), float(setting[RX_USECS])
        return {"power_w": cap_w, "p99_us": (200.0 + 1.3 * delay_us) * (1.6 - cap_w / 200.0)}


@pytest.mark.parametrize("seed", [0, 1])
def test_among_settings_that_are_all_alike_a_hold_hardly_moves(seed: int) -> None:
    space = Space((Knob(CAP_W, Steps(60, 120, 5), safest="high"), Knob(RX_USECS, Steps(0, 200, 20), safest="low")))
    server = Capped(space, noise=0.1, seed=seed)
    _, held = hold(server, make_problem(space, slo="p99<600us"), 40)
    assert sum(dict(a) != dict(b) for a, b in pairwise(held)) <= 8


def test_a_setting_that_breaks_the_slo_again_and_again_is_held_no_longer() -> None:
    server, problem = FakeServer(SPACE, seed=1), make_problem(SPACE, slo="p99<400us")
    optimizer = GreyBox(problem)
    result = run_search(server, problem, optimizer, max_trials=15)
    assert result.setting is not None
    bad = Measurement({**server.truth(result.setting), "p99_us": 520.0}, {"p99_us": 0.02, "power_w": 0.003})
    for _ in range(4):
        optimizer.tell(Observation(result.setting, bad, problem.qps))
    moved = optimizer.polish(result.setting)
    assert moved is not None
    assert server.truth(moved)["p99_us"] < server.truth(result.setting)["p99_us"]


@pytest.mark.parametrize("change", [0.8, 0.9, 1.1, 1.2])
def test_it_follows_the_load_without_a_trial_and_breaks_nothing(change: float) -> None:
    server, problem = FakeServer(SPACE, seed=1), make_problem(SPACE, slo="p99<400us")
    result = run_search(server, problem, GreyBox(problem), max_trials=15)
    assert result.setting is not None
    qps = change * problem.qps
    history = [Observation(t.setting, t.measurement, problem.qps) for t in result.trials]
    there, followed = FakeServer(SPACE, qps=qps), GreyBox(replace(problem, qps=qps, history=history, steady=2.0))
    setting = followed.follow(result.setting)
    assert setting is not None
    assert there.truth(setting)["p99_us"] < 400.0
    assert there.truth(setting)["power_w"] < 1.1 * best_power_w(there, replace(problem, qps=qps))


def test_it_follows_nothing_while_it_knows_nothing() -> None:
    assert GreyBox(make_problem(SPACE, slo="p99<400us")).follow(SPACE.settings()[0]) is None
