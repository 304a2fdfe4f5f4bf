from __future__ import annotations

from bayop.measurement import Measurement
from bayop.optimize.base import Observation
from bayop.optimize.grey_box.seen import Seen
from bayop.space import FREQ_MHZ, RX_USECS, Setting
from bayop.testing.fakes import make_problem, papers_space

PROBLEM = make_problem(papers_space(), slo="p99<200us", qps=1000.0)


def at(delay: float) -> Setting:
    return {RX_USECS: delay, FREQ_MHZ: 2900}


def window(delay: float, p99_us: float, *, qps: float = 1000.0, harm: str | None = None, u: float = 0.5) -> Observation:
    return Observation(at(delay), Measurement({"power_w": 50.0, "p99_us": p99_us, "utilization": u}, {}, harm), qps)


def test_another_load_is_another_story() -> None:
    seen = Seen(PROBLEM, [window(2, 50), window(4, 900, qps=2000.0), window(6, 60, qps=1005.0)], frozenset())
    assert [o.setting[RX_USECS] for o in seen.here] == [2, 6]
    assert seen.misses == 0
    assert seen.windows(at(4)) == 0


def test_windows_are_counted_for_each_setting() -> None:
    seen = Seen(PROBLEM, [window(2, 50), window(2.0, 60), window(4, 250)], frozenset())
    assert (seen.windows(at(2)), seen.windows(at(4)), seen.windows(at(6))) == (2, 1, 0)
    assert seen.misses == 1


def test_one_window_that_met_the_slo_makes_a_setting_holdable_and_one_cut_short_never() -> None:
    seen = Seen(PROBLEM, [window(2, 50), window(4, 190), window(4, 210), window(6, 50), window(6, 50, harm="x")], [])
    assert seen.holdable == [at(2), at(4)]
    assert seen.misses == 2


def test_without_a_constraint_every_whole_setting_is_holdable() -> None:
    free = make_problem(papers_space(), slo="p99<200us", objective="latency", qps=1000.0)
    assert Seen(free, [window(2, 500), window(4, 100, harm="x")], frozenset()).holdable == [at(2)]


def test_a_fall_is_a_setting_of_which_half_of_the_windows_fell() -> None:
    once = [window(2, 50), window(4, 9000)]
    assert Seen(PROBLEM, once, {1}).fallen == [at(4)]
    assert Seen(PROBLEM, [*once, window(4, 100)], {1}).fallen == [at(4)]
    assert Seen(PROBLEM, [*once, window(4, 100), window(4, 110)], {1}).fallen == [], "a disturbance of its own"


def test_latency_and_utilization_are_those_that_met_the_slo() -> None:
    seen = Seen(PROBLEM, [window(2, 50, u=0.3), window(4, 150, u=0.7), window(6, 250, u=0.95)], frozenset())
    assert seen.highest_us == (150,)
    assert seen.highest_utilization == 0.7
    assert Seen(PROBLEM, [window(6, 250, u=0.95)], frozenset()).highest_utilization == 0.0
    assert Seen(PROBLEM, [window(6, 250)], frozenset()).highest_us is None


def test_a_throughput_below_the_floor_is_no_setting_to_hold_whatever_one_window_shows() -> None:
    problem = make_problem(papers_space(), slo="p99<200us,qps>900qps", qps=1000.0)

    def served(delay: float, qps: float) -> Observation:
        return Observation(at(delay), Measurement({"p99_us": 50.0, "qps": qps}), 1000.0)

    seen = Seen(problem, [served(2, 1000), served(4, 910), served(4, 870), served(6, 910), served(6, 895)], frozenset())
    assert seen.misses == 2
    assert seen.holdable == [at(2), at(6)]


def test_the_highest_latency_is_known_for_each_limit() -> None:
    problem = make_problem(papers_space(), slo="p99<200us,p50<100us", qps=PROBLEM.qps)
    windows = [
        Observation(at(2), Measurement({"p99_us": p99, "p50_us": p50}), PROBLEM.qps)
        for p99, p50 in ((150, 20), (100, 40), (100, 110))
    ]
    assert Seen(problem, windows, frozenset()).highest_us == (150, 40)
