from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest

from bayop.confirm import DEFAULT, FOUND, Comparison, confirm, is_enough, take_turns
from bayop.measurement import Measurement
from bayop.saving import Looks
from bayop.space import AUTO, FREQ_MHZ, RX_USECS, Setting, default_setting
from bayop.testing.fakes import FakeServer, make_problem, papers_space

SPACE = papers_space(auto=True)
GOOD: Setting = {RX_USECS: 100, FREQ_MHZ: 1700}
SAME: Setting = {RX_USECS: 20, FREQ_MHZ: 2900}
SLOW: Setting = {RX_USECS: 400, FREQ_MHZ: 2000}
LOOKS = Looks(24)


def test_a_saving_is_kept_and_the_comparison_ends_when_it_is_known() -> None:
    server = FakeServer(SPACE, seed=1)
    rounds: list[object] = []
    outcome = confirm(
        server, GOOD, make_problem(SPACE), LOOKS, seed=0, on_round=lambda _, outcome: rounds.append(outcome)
    )
    assert outcome.verdict == "saves"
    assert outcome.is_worth_holding
    assert dict(server.setting or {}) == dict(GOOD)
    assert len(rounds) == len(outcome.rounds) == 8
    truth = server.truth(default_setting(SPACE))["power_w"] - server.truth(GOOD)["power_w"]
    assert outcome.saving is not None
    assert outcome.saving.low < truth < outcome.saving.high


@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_kept_where_nothing_is_saved(seed: int) -> None:
    """The setting that the operating system chooses itself."""
    server = FakeServer(SPACE, seed=seed)
    outcome = confirm(server, SAME, make_problem(SPACE), LOOKS, seed=seed)
    assert (outcome.verdict, outcome.is_worth_holding, server.setting) == ("not significant", False, None)


def test_a_winner_that_breaks_the_slo_is_not_kept_whatever_it_saves() -> None:
    server = FakeServer(SPACE)
    outcome = confirm(server, SLOW, make_problem(SPACE, slo="p99<400us"), LOOKS, seed=0)
    assert outcome.saving is not None
    assert outcome.saving.significant
    assert (outcome.verdict, server.setting) == ("breaks", None)


def test_a_winner_that_meets_what_the_default_breaks_is_kept_whatever_it_costs() -> None:
    fast = {RX_USECS: 2, FREQ_MHZ: 2900}
    server = FakeServer(SPACE, noise=0.0)
    limit_us = (server.truth(default_setting(SPACE))["p99_us"] + server.truth(fast)["p99_us"]) / 2
    outcome = confirm(server, fast, make_problem(SPACE, slo=f"p99<{limit_us}us"), LOOKS, seed=0)
    assert (outcome.verdict, outcome.is_worth_holding) == ("meets", True)
    assert outcome.saving is not None
    assert outcome.saving.value < 0


def test_turns_are_fair_and_drawn_by_the_seed() -> None:
    def orders(seed: int) -> list[bool]:
        server = FakeServer(SPACE)
        list(islice(take_turns(server, {DEFAULT: None, FOUND: GOOD}, seed=seed), 100))
        return [s[FREQ_MHZ] == AUTO for s in server.applied[::2]]

    assert orders(3) == orders(3) != orders(4)
    assert 30 < Counter(orders(3))[True] < 70


def test_an_error_puts_the_default_back() -> None:
    server = FakeServer(SPACE)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        confirm(server, GOOD, make_problem(SPACE), LOOKS, seed=0, on_round=interrupt)
    assert server.setting is None


def window(power_w: float, latency_us: float = 100.0, cut_short: str | None = None) -> Measurement:
    return Measurement({"power_w": power_w, "p99_us": latency_us}, cut_short=cut_short)


def test_windows_that_were_cut_short_count_against_the_setting_and_not_for_its_power() -> None:
    whole = {DEFAULT: window(100.0), FOUND: window(90.0)}
    cut = {DEFAULT: window(100.0), FOUND: window(1.0, cut_short="harm")}
    problem = make_problem(SPACE)
    one, two = [*[whole] * 7, cut], [*[whole] * 7, cut, cut]
    assert not is_enough(one, problem, LOOKS)
    assert is_enough(two, problem, LOOKS)
    assert [Comparison.of(r, problem, LOOKS).verdict for r in ([*one, whole], two)] == ["saves", "breaks"]
    saving = Comparison.of(two, problem, LOOKS).saving
    assert saving is not None
    assert (saving.value, saving.pairs) == (10.0, 7)


def test_nothing_whole_is_nothing_known() -> None:
    cut = {DEFAULT: window(1.0, cut_short="load"), FOUND: window(1.0, cut_short="load")}
    assert Comparison.of([cut], make_problem(SPACE), LOOKS).verdict == "unknown"


def test_every_limit_decides_whether_the_slo_is_kept() -> None:
    server = FakeServer(SPACE)
    assert server.truth(GOOD)["p99_us"] < 400
    for slo, verdict in (("p99<400us,p50<90us", "saves"), ("p99<400us,p50<60us", "breaks")):
        outcome = confirm(server, GOOD, make_problem(SPACE, slo=slo), LOOKS, seed=0)
        assert (outcome.verdict, set(outcome.medians[FOUND])) == (verdict, {"p99_us", "p50_us"})


def test_a_window_that_was_cut_short_serves_nothing() -> None:
    problem = make_problem(SPACE, slo="p99<400us,qps>1k")
    cut, whole = Measurement({}, cut_short="x"), Measurement({"power_w": 40.0, "p99_us": 9.0, "qps": 2000.0})
    rounds = [{DEFAULT: whole, FOUND: found} for found in (whole, cut, cut)]
    assert Comparison.of(rounds, problem, LOOKS).medians[FOUND] == {"p99_us": float("inf"), "qps": 0.0}
