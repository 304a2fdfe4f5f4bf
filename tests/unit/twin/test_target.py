from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from bayop import _core
from bayop.domains import Choices, Steps
from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.objective import Objective
from bayop.optimize import make_optimizer
from bayop.optimize.base import Problem
from bayop.search import run_search
from bayop.slo import Slo
from bayop.space import AUTO, FREQ_MHZ, RX_USECS, Knob, default_setting
from bayop.target.own_knob import OwnKnobTarget
from bayop.twin.profile_library import load_profile, parse_profile, read_profile, with_values
from bayop.twin.target import IDLE_GOVERNORS, SAFEST, TwinTarget, profile_space
from bayop.twin.windows import combine_batches, simulate, simulation_run

FAST = {RX_USECS: 10.0, FREQ_MHZ: 2900.0}
SLOW = {RX_USECS: 400.0, FREQ_MHZ: 1300.0}


def _power_under(text: str) -> tuple[Slo, Objective]:
    slo = Slo.parse(text)
    return slo, Objective.parse("power", slo)


def twin(seed: int = 0) -> TwinTarget:
    return TwinTarget(load_profile("ebbrt-memcached"), qps=100_000.0, seed=seed, requests=20_000)


def test_the_space_is_the_machines() -> None:
    space = profile_space(load_profile("linux-memcached"))
    assert space[RX_USECS].domain == Steps(2, 1022, 2)
    assert space[FREQ_MHZ].domain == Steps(1200, 2900, 100)
    assert all(knob.auto for knob in space.knobs)


def test_other_knobs_join_the_space_when_they_are_named() -> None:
    linux = load_profile("linux-memcached")
    space = profile_space(linux, ["power.cap_w", "idle.max_latency_us"])
    assert space.ids == (RX_USECS, FREQ_MHZ, "power.cap_w", "idle.max_latency_us")
    assert space["idle.max_latency_us"].domain == Choices((0, 2, 10, 80, 109))
    assert all(knob.auto and knob.safest for knob in space.knobs)
    assert profile_space(linux, [RX_USECS]) == profile_space(linux)
    assert {*load_profile("linux-memcached@xeon-silver-4314").knobs(), "idle.governor"} == set(SAFEST)
    with pytest.raises(InputError, match=r"no knob 'nic\.rx_frames' here"):
        profile_space(linux, ["nic.rx_frames"])


def test_the_governor_of_idle_states_is_a_knob_where_one_is_chosen() -> None:
    linux = load_profile("linux-memcached")
    assert profile_space(linux, ["idle.governor"])["idle.governor"].domain == Choices(IDLE_GOVERNORS)
    with pytest.raises(InputError, match=r"no knob 'idle\.governor' here"):
        profile_space(load_profile("ebbrt-memcached"), ["idle.governor"])


@pytest.mark.parametrize("governor", IDLE_GOVERNORS)
def test_a_governor_as_a_knob_is_the_profiles(governor: str) -> None:
    as_knob = TwinTarget.from_profile("linux-memcached", qps=5e4, seed=3, knobs=["idle.governor"])
    as_knob.apply({**FAST, "idle.governor": governor})
    profile = with_values(load_profile("linux-memcached"), {"os.idle_governor": governor})
    in_profile = TwinTarget(profile, qps=5e4, seed=3)
    in_profile.apply(FAST)
    assert as_knob.measure() == in_profile.measure()


def test_a_named_knob_that_stays_auto_changes_nothing() -> None:
    plain, more = (TwinTarget.from_profile("linux-memcached", qps=1e5, seed=3, knobs=k) for k in ((), list(SAFEST)[3:]))
    more.apply({**default_setting(more.space), **FAST})
    plain.apply(FAST)
    assert more.measure() == plain.measure()


def test_irregular_frequencies_become_choices() -> None:
    text, source = read_profile("linux-memcached")
    line = next(line for line in text.splitlines() if line.startswith("freq_mhz"))
    profile = parse_profile(text.replace(line, "freq_mhz = [1000, 2000, 2500]"), source=source)
    assert profile_space(profile)[FREQ_MHZ].domain == Choices((1000.0, 2000.0, 2500.0))


def test_what_a_window_ran_with_is_what_was_applied() -> None:
    profile = load_profile("linux-memcached").with_values(
        {"machine.nic.rx_usecs_min": 5.0, "machine.nic.rx_usecs_step": 30.0}
    )
    target = TwinTarget(profile, qps=100_000.0, seed=0, requests=1_000)
    delays, frequencies = (target.space[knob].numbers() for knob in (RX_USECS, FREQ_MHZ))
    settings = [target.apply({RX_USECS: delay, FREQ_MHZ: frequencies[i % 18]}) for i, delay in enumerate(delays)]
    runs = [simulation_run(profile, setting, load=1e5, requests=100, seed=1) for setting in settings]
    windows = _core.simulate(profile, runs)
    assert [(window["rx_usecs"], window["freq_mhz"]) for window in windows] == [tuple(s.values()) for s in settings]


def test_a_card_with_a_billion_delays_takes_any_of_them() -> None:
    changed = {"machine.nic.rx_usecs_min": 0.0, "machine.nic.rx_usecs_max": 1e6, "machine.nic.rx_usecs_step": 0.001}
    profile = load_profile("linux-memcached").with_values(changed)
    target = TwinTarget(profile, qps=100_000.0, seed=0, requests=8_000)
    assert target.apply({RX_USECS: 123.456, FREQ_MHZ: 2000}) == {RX_USECS: 123.456, FREQ_MHZ: 2000}
    assert target.measure()["p99_us"] > 123.0
    with pytest.raises(InputError, match=r"are 1000000001 values; a domain must have at most 1000000"):
        make_optimizer("grey-box", Problem(target.space, *_power_under("p99<500us"), target.qps), seed=0)


def test_every_window_has_arrivals_of_its_own_and_repeats_for_a_seed() -> None:
    target, again = twin(), twin()
    first, second = target.measure(), target.measure()
    assert first != second
    assert [again.measure(), again.measure()] == [first, second]
    assert twin(seed=1).measure() != first


def test_settings_take_effect_and_restore_goes_back() -> None:
    target = twin()
    assert target.apply(SLOW) == SLOW
    slow = target.measure()
    target.apply(FAST)
    fast = target.measure()
    assert slow["power_w"] < fast["power_w"]
    assert slow["p99_us"] > fast["p99_us"]
    target.restore()
    assert target.measure()["power_w"] == pytest.approx(target.baseline()["power_w"], rel=0.02)


def test_a_bad_setting_changes_nothing() -> None:
    target = twin()
    target.apply(SLOW)
    with pytest.raises(InputError, match=r"nic\.rx_usecs must be"):
        target.apply({RX_USECS: 5.0, FREQ_MHZ: 2900.0})
    assert target.measure()["p99_us"] > 300.0


@pytest.mark.parametrize("qps", [0.0, -1.0, float("nan"), float("inf")])
def test_a_load_is_a_positive_number(qps: float) -> None:
    with pytest.raises(InputError, match="a load must be a positive number of requests/s"):
        TwinTarget(load_profile("linux-memcached"), qps=qps, seed=0)


def test_a_load_as_people_type_it_is_refused_with_its_number() -> None:
    typed = cast("float", "400k")
    with pytest.raises(InputError, match="cannot use '400k': a load must be a positive number of requests/s") as caught:
        TwinTarget.from_profile("linux-memcached", qps=typed, seed=0)
    assert caught.value.hint == "in a program, write 400_000"
    with pytest.raises(InputError, match="a load must be a positive message size in bytes") as caught:
        TwinTarget.from_profile("linux-netpipe", message_bytes=cast("float", "64KB"), seed=0)
    assert caught.value.hint == "in a program, write 65_536"


def test_auto_leaves_a_knob_to_the_modelled_policy() -> None:
    profile = load_profile("linux-memcached")
    default = simulation_run(profile, default_setting(profile_space(profile)), load=2e5, requests=1000, seed=1)
    assert default["setting"] == {}
    half = simulation_run(profile, {RX_USECS: 50.0, FREQ_MHZ: AUTO}, load=2e5, requests=1000, seed=1)
    assert half["setting"] == {RX_USECS: 50.0}


def test_a_window_without_an_answer_is_cut_short_and_shows_how_long_requests_wait_at_least() -> None:
    profile = load_profile("linux-memcached")
    run = simulation_run(profile, FAST, load=0.01, requests=1, seed=1) | {
        "warmup_s": 0.0,
        "requests": None,
        "duration_s": 1e-5,
    }
    (window,) = simulate(profile, [run], threads=1)
    assert window.cut_short == "no request was answered"
    assert (window["p50_us"], window["p99_us"], window["qps"]) == pytest.approx((5.0, 9.9, 0.0))
    assert window["power_w"] > 0.0


def test_one_queue_that_drowns_in_interrupts_is_a_window_cut_short() -> None:
    server = TwinTarget.from_profile("linux-memcached", qps=1e6, seed=1, knobs=["nic.combined_queues"])
    server.apply({RX_USECS: 2, FREQ_MHZ: 1200, "nic.combined_queues": 1})
    drowned = server.measure()
    assert drowned.cut_short == "no request was answered"
    assert drowned["p99_us"] > 100.0 * server.baseline()["p99_us"]


def test_errors_of_the_core_keep_rule_place_and_hint() -> None:
    with pytest.raises(InputError, match="there is no key nam") as error:
        parse_profile("nam = 1", source="mine.toml")
    assert str(error.value.place).startswith("mine.toml, line 1")
    assert error.value.hint == "did you mean name?"
    assert error.value.value == "nam"
    with pytest.raises(InputError, match="rx_usecs must be between 2 and 1022"):
        simulate(load_profile("linux-memcached"), [{"qps": 1e5, "setting": {RX_USECS: 5000.0}}], threads=1)
    with pytest.raises(InputError, match=r"cannot use \'1\': freq_mhz must be between 1200 and 2900"):
        simulate(load_profile("linux-memcached"), [{"qps": 1e5, "setting": {FREQ_MHZ: 1.0}}], threads=1)


def test_batches_combine_to_means_totals_and_standard_errors() -> None:
    batch = Measurement({"power_w": 10.0, "energy_j": 1.0, "duration_s": 2.0}, relative_sd={"power_w": 0.01})
    hotter = replace(batch, quantities={"power_w": 12.0, "energy_j": 3.0, "duration_s": 2.0})
    window = combine_batches([batch, hotter])
    assert dict(window.quantities) == {"power_w": 11.0, "energy_j": 4.0, "duration_s": 4.0}
    assert window.relative_sd["power_w"] == pytest.approx((2.0**0.5 / 11.0) / 2.0**0.5)
    assert combine_batches([batch, batch]).relative_sd["power_w"] == pytest.approx(0.01 / 2.0**0.5)


def test_the_truth_is_looked_up_beside_the_measurements() -> None:
    looked, other = (TwinTarget(load_profile("linux-memcached"), qps=100_000, seed=5) for _ in range(2))
    setting = {RX_USECS: 100, FREQ_MHZ: 2000}
    truth = looked.truth(setting)
    assert truth == looked.truth(setting)
    for target in (looked, other):
        target.apply(setting)
    first = looked.measure()
    assert first == other.measure()
    assert truth["power_w"] == pytest.approx(first["power_w"], rel=0.02)
    with pytest.raises(InputError):
        looked.truth({RX_USECS: 100})


def test_the_truth_of_a_closed_loop_is_of_as_many_round_trips_as_a_window() -> None:
    target = TwinTarget(load_profile("linux-netpipe"), message_bytes=65536, seed=0, requests=800)
    setting = {RX_USECS: 2, FREQ_MHZ: 1800}
    target.apply(setting)
    truth, window = target.truth(setting), target.measure()
    assert truth["roundtrips"] == window["roundtrips"] == 800
    assert truth["energy_j"] == pytest.approx(window["energy_j"], rel=0.05)


@pytest.mark.parametrize("more", [(), ("idle.max_latency_us",)])
def test_a_knob_of_ones_own_is_searched_with_those_of_the_twin(more: tuple[str, ...]) -> None:
    server = TwinTarget.from_profile("linux-memcached", qps=2e5, seed=0, knobs=more)
    threads: list[object] = []
    target = OwnKnobTarget(server, Knob("app.threads", Choices((2, 4, 8))), threads.append, before=4)
    problem = Problem(target.space.without_auto(), *_power_under("p99<500us"), target.qps)
    result = run_search(target, problem, make_optimizer("grey-box", problem, seed=0), max_trials=8)
    assert set(problem.space.ids) == {RX_USECS, FREQ_MHZ, *more, "app.threads"}
    assert result.setting is not None
    assert set(result.setting) == set(problem.space.ids)
    assert any(trial.meets_slo for trial in result.trials)
    assert threads
