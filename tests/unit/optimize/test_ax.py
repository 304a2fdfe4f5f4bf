from __future__ import annotations

import json
import sys

import pytest

from bayop.cli import main
from bayop.domains import Choices, Steps
from bayop.errors import InputError, UnsupportedError
from bayop.measurement import Measurement
from bayop.optimize import make_optimizer
from bayop.optimize.ax import AxConstrained, AxPenalty
from bayop.optimize.base import Proposal
from bayop.space import AUTO, FREQ_MHZ, RX_USECS, Knob, Space
from bayop.testing.fakes import FakeServer, make_problem, papers_space

PROBLEM = make_problem(papers_space(), slo="p99<200us")


@pytest.fixture
def no_ax(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [m for m in sys.modules if m == "ax" or m.startswith("ax.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ax", None)


@pytest.mark.usefixtures("no_ax")
@pytest.mark.parametrize("name", ["ax", "ax-constrained"])
def test_says_how_to_get_ax_where_it_is_missing(name: str) -> None:
    with pytest.raises(
        UnsupportedError, match="ax-platform, which the optimizers ax and ax-constrained use, is not installed"
    ) as caught:
        make_optimizer(name, PROBLEM, seed=0)
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("pip install 'bayop[ax]'")


@pytest.mark.usefixtures("no_ax")
def test_the_command_line_exits_with_4_where_ax_is_missing(data: object, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["tune", "--target", "study", "--data", f"{data}/study_memcached.csv", "--load", "600000"]
    assert main([*argv, "--optimizer", "ax", "--json"]) == 4
    captured = capsys.readouterr()
    assert json.loads(captured.out)["event"] == "error"
    assert "hint: pip install 'bayop[ax]'" in captured.err


@pytest.mark.slow
@pytest.mark.needs("ax")
def test_the_penalty_is_that_of_the_papers() -> None:
    problem = make_problem(papers_space(), slo="p99<200us", objective="rp")
    server = FakeServer(problem.space, noise=0.0)
    for setting in ({RX_USECS: 2, FREQ_MHZ: 2900}, {RX_USECS: 400, FREQ_MHZ: 1300}):
        measured = server.observe(setting).measurement
        rp = measured["energy_j"] * max(measured["p99_us"] - 200.0 + 1.0, 1.0)
        assert AxPenalty(problem, seed=0).outcomes(measured) == {"objective": pytest.approx(rp)}
        # Power under the SLO is the same objective but for the length of the window.
        power = AxPenalty(PROBLEM, seed=0).outcomes(measured)["objective"]
        assert power * measured["duration_s"] == pytest.approx(rp)


@pytest.mark.slow
@pytest.mark.needs("ax")
def test_the_slo_is_a_constraint_only_where_the_objective_has_one() -> None:
    assert AxConstrained(PROBLEM, seed=0).constraints() == ["log_p99_us <= 5.298317366548"]
    free = make_problem(papers_space(), objective="latency")
    assert AxConstrained(free, seed=0).constraints() == []


@pytest.mark.slow
@pytest.mark.needs("ax")
def test_starts_with_sobol_points_that_depend_on_the_seed() -> None:
    firsts = [AxPenalty(PROBLEM, seed=seed).ask(30) for seed in (0, 0, 1)]
    assert firsts[0] == firsts[1]
    assert firsts[0] != firsts[2]


@pytest.mark.slow
@pytest.mark.needs("ax")
def test_tries_a_small_space_to_its_end() -> None:
    space = Space((Knob(RX_USECS, Steps(2, 4, 2), auto=True), Knob("idle.governor", Choices(("menu", "teo")))))
    server, search = FakeServer(space), AxConstrained(make_problem(space), seed=0)
    settings = []
    while isinstance(answer := search.ask(9), Proposal):
        settings.append(tuple(answer.setting.items()))
        search.tell(server.observe(answer.setting))
    assert len(settings) == len(set(settings)) == 6
    assert (RX_USECS, AUTO) in {pair for setting in settings for pair in setting}


@pytest.mark.slow
@pytest.mark.needs("ax")
@pytest.mark.parametrize("kind", [AxPenalty, AxConstrained])
def test_says_nothing_on_the_terminal(kind: type[AxPenalty | AxConstrained], capfd: pytest.CaptureFixture[str]) -> None:
    server, search = FakeServer(PROBLEM.space), kind(PROBLEM, seed=0)
    for trials_left in range(7, 0, -1):
        answer = search.ask(trials_left)
        assert isinstance(answer, Proposal)
        search.tell(server.observe(answer.setting))
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.needs("ax")
@pytest.mark.parametrize("kind", [AxPenalty, AxConstrained])
@pytest.mark.parametrize("auto", [False, True])
def test_a_knob_may_have_more_values_than_ax_takes_choices(
    kind: type[AxPenalty | AxConstrained], *, auto: bool
) -> None:
    knob = Knob(RX_USECS, Steps(0, 5000, 1), auto=auto)
    space = Space((knob, Knob(FREQ_MHZ, Steps(1300, 2900, 100))))
    server, search = FakeServer(space), kind(make_problem(space), seed=0)
    settings = set()
    for trials_left in range(8, 0, -1):
        answer = search.ask(trials_left)
        assert isinstance(answer, Proposal)
        settings.add(tuple(space.check(answer.setting).items()))
        search.tell(server.observe(answer.setting))
    assert len(settings) == 8


def test_a_penalty_on_latency_has_no_place_for_a_throughput() -> None:
    with pytest.raises(InputError, match="the optimizer ax must have no throughput") as caught:
        make_optimizer("ax", make_problem(papers_space(), slo="p99<200us,qps>390k"), seed=0)
    assert caught.value.hint == "grey-box and ax-constrained keep one"


@pytest.mark.slow
@pytest.mark.needs("ax")
def test_every_limit_is_a_constraint_or_part_of_the_penalty() -> None:
    several = AxConstrained(make_problem(papers_space(), slo="p99<200us,p50<100us,qps>390k"), seed=0)
    assert [text.partition(" ")[0] for text in several.constraints()] == ["log_p99_us", "log_p50_us", "qps"]
    measured = Measurement({"power_w": 50.0, "p99_us": 150.0, "p50_us": 109.0, "qps": 4e5})
    assert several.outcomes(measured).keys() == {"objective", "log_p99_us", "log_p50_us", "qps"}
    priced = AxPenalty(make_problem(papers_space(), slo="p99<200us,p50<100us"), seed=0)
    assert priced.outcomes(measured) == {"objective": 500.0}
