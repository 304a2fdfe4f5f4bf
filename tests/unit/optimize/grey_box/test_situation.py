from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from bayop.domains import Steps
from bayop.measurement import Measurement
from bayop.optimize.base import Observation, Problem
from bayop.optimize.grey_box.caution import Caution
from bayop.optimize.grey_box.inputs import Encoder, typical_delay_us
from bayop.optimize.grey_box.outputs import Outputs
from bayop.optimize.grey_box.situation import Situation
from bayop.space import FREQ_MHZ, RX_USECS, Knob, Setting, Space, fastest_setting
from bayop.testing.fakes import FakeServer, make_problem, papers_space

PROBLEM = make_problem(papers_space(), slo="p99<300us")
FASTEST = fastest_setting(PROBLEM.space)


def at(delay: float, freq_mhz: float = 2900) -> Setting:
    return {RX_USECS: delay, FREQ_MHZ: freq_mhz}


def after(observations: Sequence[Observation], problem: Problem = PROBLEM) -> Situation:
    encoder = Encoder(problem.space, typical_delay_us(problem.space, problem.slo))
    return Situation(
        problem, Caution(), Outputs.of(problem, explained=True), encoder, observations, effective=lambda s: s
    )


def measured(*settings: Setting) -> list[Observation]:
    server = FakeServer(PROBLEM.space, qps=PROBLEM.qps, seed=1)
    return [server.observe(s) for s in settings]


def test_the_incumbent_is_the_cheapest_setting_that_was_measured_and_is_trusted() -> None:
    incumbent = after(measured(FASTEST, at(100), at(100, 2500), at(400))).incumbent
    assert incumbent is not None
    assert dict(incumbent.setting) == at(100, 2500)
    truth = FakeServer(PROBLEM.space, qps=PROBLEM.qps).truth(incumbent.setting)["power_w"]
    assert incumbent.objective == pytest.approx(truth, rel=0.02)


def test_what_missed_the_slo_is_no_incumbent() -> None:
    assert after(measured(at(400))).incumbent is None


def test_what_is_to_be_improved_on_is_the_cheapest_of_what_is_known() -> None:
    observations = measured(FASTEST, at(100))
    known = after(observations).incumbent
    assert known is not None
    assert after(observations).reference(FASTEST) == known.objective
    for share in (0.5, 2.0):
        default = Measurement({"power_w": share * known.objective, "p99_us": 100.0})
        expected = min(share, 1.0) * known.objective
        assert after(observations, replace(PROBLEM, default=default)).reference(FASTEST) == pytest.approx(expected)
    late = Measurement({"power_w": 1.0, "p99_us": 301.0})
    assert after(observations, replace(PROBLEM, default=late)).reference(FASTEST) == known.objective


def test_without_an_incumbent_it_is_what_the_fastest_setting_is_expected_to_take() -> None:
    now = after(measured(at(400)))
    assert now.reference(FASTEST) == pytest.approx(now.predict(FASTEST).objective)


def test_a_window_of_the_setting_itself_takes_away_most_of_its_doubt() -> None:
    now = after(measured(FASTEST, at(100)))
    about = at(300, 1700)
    itself, near, far = now.doubt_share([about, at(290, 1700), FASTEST], about)
    assert 1.0 >= itself > near > far >= 0.0


def test_before_anything_fell_there_is_no_cliff() -> None:
    server = FakeServer(PROBLEM.space, qps=PROBLEM.qps, seed=1)
    fell = replace(server.observe(at(400)).measurement, quantities={"p99_us": 9e4, "power_w": 40.0})
    where = [at(2), at(60), at(396)]
    assert after(measured(FASTEST, at(100))).view(where).belief.clear.tolist() == [1.0, 1.0, 1.0]
    clear = after([*measured(FASTEST), Observation(at(400), fell, PROBLEM.qps)]).view(where).belief.clear
    assert clear[0] > 0.98
    assert clear[0] > clear[1] > clear[2]
    assert clear[2] < 0.1


def test_knobs_that_are_not_there_are_not_in_the_way_of_a_cliff() -> None:
    space = Space((Knob("app.batch", Steps(0, 100, 1), safest="low"),))
    problem = make_problem(space, slo="p99<300us")
    windows = [({"app.batch": 0}, 100.0), ({"app.batch": 100}, 9e4)]
    told = [Observation(s, Measurement({"p99_us": us, "power_w": 50.0}), problem.qps) for s, us in windows]
    clear = after(told, problem).view([{"app.batch": batch} for batch in (1, 50, 99)]).belief.clear
    assert clear.tolist() == pytest.approx([1.0, 0.5, 0.0], abs=0.03)


def test_the_way_left_is_that_of_what_met_the_slo_and_less_where_it_is_nearer() -> None:
    left = after(measured(FASTEST)).way_left([FASTEST, at(30, 2500), at(100, 2000)], at(100, 2000))
    assert left[0] == pytest.approx(1.0)
    assert left[0] > left[1] > left[2] == 0.0


def test_predicts_what_a_server_of_this_kind_shows() -> None:
    prediction = after(measured(FASTEST, at(100), at(200, 2500))).predict(at(150, 2700))
    truth = FakeServer(PROBLEM.space, qps=PROBLEM.qps).truth(at(150, 2700))
    for name in ("power_w", "p99_us", "utilization"):
        assert abs(np.log(prediction.quantities[name] / truth[name])) < 4 * prediction.relative_sd[name] + 0.01
    assert prediction.objective == pytest.approx(prediction.quantities["power_w"], rel=0.01)
    assert prediction.slo_probability > 0.9
