from __future__ import annotations

import pytest

from bayop.experiments.generality import play
from bayop.experiments.generality.play import (
    SLOS,
    TOLERANCE,
    Truth,
    cases,
    peak_qps,
    saving_of,
    service_s,
    trial_requests,
)
from bayop.slo import Slo
from bayop.twin.profile_library import load_profile
from bayop.twin.target import BATCHES

SPHINX = load_profile("linux-sphinx@epyc-ena")


def test_every_service_is_asked_for_on_every_machine() -> None:
    names = [case.profile_name for case in cases()]
    assert len(set(names)) == 16
    for name in names:
        assert load_profile(name).name.endswith("on Linux")


def test_objectives_go_from_microseconds_to_seconds() -> None:
    limits = [Slo.parse(slo).limit_us for slo in SLOS.values()]
    assert max(limits) / min(limits) > 1000


def test_trials_are_long_enough_for_the_tail_of_slow_services() -> None:
    slo = Slo.parse("p99<500us")
    assert service_s(SPHINX) == pytest.approx(0.290, abs=0.001)
    for qps in (1.0, 40.0):
        requests = trial_requests(SPHINX, slo, qps)
        assert requests >= BATCHES * 1000, "ten requests a batch beyond the 99th percentile"
        assert requests / qps >= BATCHES * 50 * service_s(SPHINX)
    assert trial_requests(load_profile("linux-memcached"), slo, 600_000.0) == 200_000


def test_trials_show_cores_that_are_overloaded_by_a_fiftieth() -> None:
    for service, qps in (("sphinx", 40.0), ("img-dnn", 100_000.0)):
        slo = Slo.parse(SLOS[service])
        requests = trial_requests(load_profile(f"linux-{service}@epyc-ena"), slo, qps)
        assert requests / qps >= BATCHES * 50 * slo.limit_us / 1e6


def test_the_peak_is_where_the_default_policy_just_meets_the_slo() -> None:
    profile, slo = load_profile("linux-xapian@epyc-ena"), Slo.parse(SLOS["xapian"])
    peak = peak_qps(profile, slo)
    capacity = 32 / service_s(profile)
    assert 0.85 * capacity < peak < capacity
    assert play.true_window(profile, slo, 0.9 * peak, None).latency_us < slo.limit_us
    assert play.true_window(profile, slo, 1.1 * peak, None).latency_us > slo.limit_us


def test_savings_are_paired_and_know_how_sure_they_are() -> None:
    default = Truth((100.0, 110.0, 90.0), 1.0, 0.5)
    saving, half = saving_of(default, Truth((80.0, 88.0, 72.0), 1.0, 0.5))
    assert saving == pytest.approx(0.2)
    assert half == pytest.approx(0.0, abs=1e-12)
    saving, half = saving_of(default, Truth((80.0, 99.0, 72.0), 1.0, 0.5))
    # Savings of 0.2, 0.1 and 0.2; Student's t for two degrees of freedom is 4.303.
    assert saving == pytest.approx(0.5 / 3)
    assert half == pytest.approx(4.303 * 0.1 / 3, rel=1e-3)


@pytest.mark.slow
def test_a_search_saves_power_and_holds_the_slo_whatever_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, smaller in {"_TRUTH_REQUESTS": 10_000, "_TRIAL_S": 2.0}.items():
        monkeypatch.setattr(play, name, smaller)
    todo = cases(["img-dnn"], ["xeon-e5-2690", "epyc-ena"])
    searches: list[None] = []
    batches = list(play.play(todo, [0], threads=2, on_search=lambda: searches.append(None)))
    assert [[o.machine for o in outcomes] for outcomes in batches] == [["xeon-e5-2690"] * 2, ["epyc-ena"] * 2]
    assert len(searches) == 4
    low = batches[0][0]
    assert low.load_share == 0.4
    assert low.qps == pytest.approx(0.4 * low.peak_qps)
    assert low.setting is not None
    assert low.meets_slo
    assert low.latency_us <= TOLERANCE * Slo.parse(low.slo).limit_us
    assert 0.1 < low.saving < 0.5
    assert low.saving == pytest.approx(1.0 - low.power_w / low.default_power_w, abs=1e-3)
    assert list(play.play(todo[:1], [0], threads=1)) == batches[:1]
