"""One search with a class of servers, or without one, judged on the truth."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bench.search.cells import Cell, meets, regret
from bench.unknown.drawing import draw_server
from bench.unknown.play import MAX_TRIALS, problem_of, regret_pct
from bench.unknown.target import ServerTarget

from bayop.optimize import make_optimizer
from bayop.optimize.base import Problem
from bayop.optimize.server_class import ServerClass
from bayop.search import Result, run_search
from bayop.space import Setting
from bayop.target.base import Target

_GOOD_PCT = 1.0


@dataclass(frozen=True, slots=True)
class Play:
    """What to run.

    Attributes:
        suite: What kind of servers; `published` or a scenario of bench.unknown.
        server: A cell of the published studies, or a server's number in its scenario.
        known: What the class was learned from.
    """

    suite: str
    server: Cell | int
    seed: int
    known: str
    server_class: ServerClass | None

    @property
    def name(self) -> str:
        """The server as a reader would call it."""
        return self.server.name if isinstance(self.server, Cell) else str(self.server)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one search ended; the fields are the columns of raw.csv.

    Attributes:
        regret_pct: How much more power than the best is drawn in the end; 100 for what breaks the SLO, or nothing held.
        to_good: Trials after which what was held was within 1 % of the best and stayed so; None when it never was.
        trials_over: Trials that truly broke the SLO.
    """

    suite: str
    server: str
    seed: int
    known: str
    regret_pct: float
    to_good: int | None
    trials: int
    trials_over: int


def play(what: Play) -> Outcome:
    """Runs one search and judges every step of it."""
    cell = what.server
    if isinstance(cell, Cell):
        study = cell.target(what.seed)
        result = _search(study, cell.problem(study), what)
        over = [not meets(cell, study.truth(trial.setting)["p99_us"]) for trial in result.trials]
        regrets_pct = [100.0 * regret(cell, study, setting) for setting in _held(result)]
    else:
        server = draw_server(what.suite, cell)
        drawn = ServerTarget(server, seed=what.seed)
        result = _search(drawn, problem_of(server, drawn), what)
        over = [not server.meets(server.truth(trial.setting)) for trial in result.trials]
        regrets_pct = [min(regret_pct(server, setting), 100.0) for setting in _held(result)]
    bad = [number for number, value in enumerate(regrets_pct, start=1) if value > _GOOD_PCT]
    return Outcome(
        suite=what.suite,
        server=what.name,
        seed=what.seed,
        known=what.known,
        regret_pct=regrets_pct[-1],
        to_good=None if regrets_pct[-1] > _GOOD_PCT else max(bad, default=0) + 1,
        trials=len(over),
        trials_over=sum(over),
    )


def _search(target: Target, problem: Problem, what: Play) -> Result:
    problem = replace(problem, server_class=what.server_class)
    return run_search(target, problem, make_optimizer("grey-box", problem, seed=what.seed), max_trials=MAX_TRIALS)


def _held(result: Result) -> list[Setting | None]:
    """What would be held after each trial; after the last one, what the search ended on."""
    return [*(trial.incumbent for trial in result.trials[:-1]), result.setting]
