"""What becomes of a search's result, and how that is said."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace

import pytest

from bayop.cli.flags.confirm import add_arguments, looks_of
from bayop.cli.tune.comparison import sentence
from bayop.cli.tune.display import _trial_row
from bayop.cli.tune.events import of_saving
from bayop.cli.tune.outcome import Outcome, doubts, outcome_of
from bayop.cli.tune.summary import _expected, print_summary
from bayop.confirm import Comparison
from bayop.measurement import Measurement
from bayop.optimize.base import Problem
from bayop.saving import Looks
from bayop.search import Result, Stopped, Trial
from bayop.space import AUTO, FREQ_MHZ, RX_USECS, Setting
from bayop.testing.fakes import make_problem, papers_space

SPACE = papers_space(auto=True)
LOOKS = Looks(6)
SLO = "p99<500us"
FOUND: Setting = {RX_USECS: 100, FREQ_MHZ: 1700}


def result(setting: Setting | None, stopped: Stopped = "converged") -> Result:
    return Result(setting, (), stopped, None)


def comparison(problem: Problem, found_w: float, found_us: float = 300.0, default_us: float = 100.0) -> Comparison:
    def window(power_w: float, latency_us: float) -> Measurement:
        quantities = {"power_w": power_w, "energy_j": power_w, "p99_us": latency_us, "qps": 5000.0, "utilization": 0.5}
        return Measurement(quantities)

    rounds = [{"default": window(40.0, default_us), "found": window(found_w, found_us)}] * 6
    return Comparison.of(rounds, problem, LOOKS)


def ends(setting: Setting | None, stopped: Stopped = "converged", *, found_w: float = 30.0) -> Outcome:
    def compare(_setting: Setting, _looks: Looks) -> Comparison:
        return comparison(make_problem(SPACE, slo=SLO), found_w)

    return outcome_of(result(setting, stopped), LOOKS, compare)


def test_only_what_saves_is_kept() -> None:
    assert ends(FOUND).is_worth_holding
    assert ends(FOUND).setting == FOUND
    worse = ends(FOUND, found_w=41.0)
    assert (worse.is_worth_holding, worse.setting) == (False, None)
    assert not ends(None).is_worth_holding


def test_what_was_to_be_compared_and_was_not_is_not_kept() -> None:
    stopped = ends(FOUND, "interrupted")
    assert (stopped.is_worth_holding, stopped.setting) == (False, FOUND)

    def interrupt(_setting: Setting, _looks: Looks) -> Comparison:
        raise KeyboardInterrupt

    later = outcome_of(result(FOUND), LOOKS, interrupt)
    assert (later.is_worth_holding, later.result.stopped) == (False, "interrupted")


def test_the_default_is_not_compared_with_itself() -> None:
    alone = ends({RX_USECS: AUTO, FREQ_MHZ: AUTO})
    assert (alone.is_worth_holding, alone.comparison) == (True, None)


def test_the_summary_says_that_the_default_is_best(capsys: pytest.CaptureFixture[str]) -> None:
    outcome, problem = ends({RX_USECS: AUTO, FREQ_MHZ: AUTO}), make_problem(SPACE, slo=SLO)
    baseline = Measurement({"power_w": 40.0, "p99_us": 100.0})
    print_summary(outcome, baseline, problem, is_held=False, is_live=True, watts="W")
    shown = " ".join("".join(capsys.readouterr()).split())
    assert "The default is best: no setting that was tried takes less under the SLO." in shown
    assert "It draws 40.0 W at 100 us." in shown
    assert "Applied" not in shown


def test_what_is_known_without_a_model_is_what_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = ends(FOUND)
    window = Measurement({"power_w": 30.0, "energy_j": 30.0, "p99_us": 200.0})
    trial = Trial(1, FOUND, window, meets_slo=True, incumbent=FOUND, chosen_in_s=0.0)
    alone = replace(outcome, result=replace(outcome.result, trials=(trial,), prediction=None), comparison=None)
    baseline = Measurement({"power_w": 40.0, "energy_j": 40.0, "p99_us": 300.0})
    problem = make_problem(SPACE, slo=SLO, objective="edp")
    print_summary(alone, baseline, problem, is_held=False, is_live=False, watts="W")
    shown = " ".join("".join(capsys.readouterr()).split())
    assert "Measured: 30.0 W, p99 200 us." in shown
    assert "The default draws 40.0 W at 300 us. This setting saves 50% of edp." in shown


@pytest.mark.parametrize(
    ("words", "is_live", "pairs"),
    [([], True, 24), ([], False, None), (["--confirm", "8"], False, 8), (["--no-confirm"], True, None)],
)
def test_live_machines_are_compared_unless_somebody_says_no(words: list[str], is_live: bool, pairs: int | None) -> None:  # noqa: FBT001
    parser = ArgumentParser()
    add_arguments(parser)
    looks = looks_of(parser.parse_args(words, Namespace()), is_live=is_live)
    assert (looks and looks.most_pairs) == pairs


@pytest.mark.parametrize(
    ("found_w", "found_us", "default_us", "message"),
    [
        (30.0, 300.0, 100.0, "It saves 10.0 W (95 % CI 10.0 to 10.0), 25.0%: 88 kWh per server and year at this load."),
        (41.0, 300.0, 100.0, "No significant saving: it costs 1.0 W (95 % CI 1.0 to 1.0), 2.5%, over 6 pairs."),
        (30.0, 600.0, 100.0, "It breaks p99<500us when measured again: p99 600 us (6 pairs)."),
        (
            41.0,
            300.0,
            600.0,
            "The default breaks p99<500us (p99 600 us), this setting meets it (300 us). It costs 1.0 W",
        ),
    ],
)
def test_the_summary_says_what_was_found(found_w: float, found_us: float, default_us: float, message: str) -> None:
    problem = make_problem(SPACE, slo=SLO)
    assert sentence(comparison(problem, found_w, found_us, default_us), problem, "W").startswith(message)


def test_the_saving_is_one_of_the_objective() -> None:
    power, edp = make_problem(SPACE, slo=SLO), make_problem(SPACE, slo=SLO, objective="edp")
    saved = of_saving(Outcome(result(FOUND), is_worth_holding=True, comparison=comparison(power, 30.0)), power)
    assert saved is not None
    assert (saved["power_w"], saved["low_w"], saved["high_w"], saved["default_w"]) == (10.0, 10.0, 10.0, 40.0)
    assert (saved["pairs"], saved["significant"], saved["setting"]) == (6, True, FOUND)
    cost = of_saving(Outcome(result(FOUND), is_worth_holding=False, comparison=comparison(edp, 30.0)), edp)
    assert cost is not None
    assert (cost["value"], cost["default"], cost["verdict"]) == (-0.005, 0.004, "not significant")
    assert "of edp" in sentence(comparison(edp, 30.0), edp, "W")
    assert of_saving(Outcome(result(FOUND), is_worth_holding=True), power) is None


def test_another_load_than_the_stated_one_is_doubtful() -> None:
    outcome = comparison(make_problem(SPACE, slo=SLO), 30.0)
    assert doubts(outcome, 5000.0) == []
    assert "5,000 requests/s, not the stated 8,000" in doubts(outcome, 8000.0)[0]


def test_every_quantile_of_the_slo_is_said() -> None:
    problem = make_problem(SPACE, slo="p99<500us,p50<100us")

    def window(power_w: float, p99_us: float, p50_us: float) -> Measurement:
        return Measurement({"power_w": power_w, "p99_us": p99_us, "p50_us": p50_us})

    pair = {"default": window(40.0, 100.0, 30.0), "found": window(30.0, 300.0, 90.0)}
    kept = Comparison.of([pair] * 6, problem, LOOKS)
    assert "p99 300 us after 100 us, p50 90 us after 30 us" in sentence(kept, problem, "W")
    event = of_saving(Outcome(result(FOUND), is_worth_holding=True, comparison=kept), problem)
    assert event is not None
    assert event["p50_us"] == {"default": 30.0, "found": 90.0}
    broken = Comparison.of([pair | {"found": window(30.0, 300.0, 110.0)}] * 6, problem, LOOKS)
    assert sentence(broken, problem, "W").startswith(
        "It breaks p99<500us,p50<100us when measured again: p99 300 us, p50 110 us"
    )


def test_the_latencies_of_a_table_have_one_unit() -> None:
    problem = make_problem(SPACE, slo=SLO)

    def row(latency_us: float, cut_short: str | None = None) -> list[str]:
        window = Measurement({"power_w": 40.0, "p99_us": latency_us}, cut_short=cut_short)
        return _trial_row(Trial(1, FOUND, window, meets_slo=False, incumbent=None, chosen_in_s=0.0), [], problem, "W")

    assert [row(1100.0)[3], row(1634.0)[3], row(500.0)[3], row(2e4, "it did harm")[3]] == [
        "1100us", "1630us", "500us", ">20000us"
    ]  # fmt: skip
    assert (_expected(1900.0, 500.0), _expected(2001.0, 500.0)) == ("1900us", ">2000us")
