"""One search of one server, judged on the server's truth."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bench.judge import held_after
from bench.unknown.drawing import draw_server
from bench.unknown.servers import Server, Truth
from bench.unknown.target import ServerTarget

from bayop.objective import Objective
from bayop.optimize import make_optimizer
from bayop.optimize.base import Problem
from bayop.search import run_search
from bayop.space import Setting, is_default

MAX_TRIALS = 15
JUDGED_TRIAL = 8
FAR = 3.0


@dataclass(frozen=True, slots=True)
class Play:
    """What to run."""

    scenario: str
    number: int
    optimizer: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one search ended; the fields are the columns of raw.csv.

    Attributes:
        queueing: Who serves the server's next request.
        island: Whether the fastest setting truly misses the SLO.
        default_best: Whether the default meets the SLO for less than any fixed setting.
        holds: `fixed` for a setting; `default` where the default was chosen, or is back and meets the SLO; `nothing`
            where it is back and does not.
        held_over: Whether what was chosen to be held, the default included, truly breaks the SLO.
        regret_pct: How much more power than the best, the default among the contenders, is drawn; 100 for a held
            setting over the SLO, and infinite where nothing is held.
        regret_early_pct: The same after `JUDGED_TRIAL` trials.
        trials_over: Trials that truly broke the SLO.
        worst: The greatest true p99 of a trial, over the limit.
        worst_but_first: The same without the first trial beyond `FAR` times the limit, which found a cliff.
        ms_per_trial: Median computing time of a trial.
    """

    scenario: str
    number: int
    queueing: str
    limit_us: float
    best_w: float
    island: bool
    default_best: bool
    holds: str
    held_over: bool
    held_w: float
    held_us: float
    regret_pct: float
    regret_early_pct: float
    trials: int
    trials_over: int
    worst: float
    worst_but_first: float
    stopped: str
    ms_per_trial: float


def play(what: Play) -> Outcome:
    """Runs one search and judges every step of it."""
    server = draw_server(what.scenario, what.number)
    target = ServerTarget(server, seed=what.number)
    problem = problem_of(server, target)
    result = run_search(
        target, problem, make_optimizer(what.optimizer, problem, seed=what.number), max_trials=MAX_TRIALS
    )
    truths = [server.truth(trial.setting) for trial in result.trials]
    over = [not server.meets(truth) for truth in truths]
    ratios = [truth.p99_us / server.slo.limit_us for truth in truths]
    far = next((i for i, ratio in enumerate(ratios) if ratio > FAR), len(ratios))
    held = held_truth(server, result.setting)
    return Outcome(
        scenario=what.scenario,
        number=what.number,
        queueing=server.physics.queueing.discipline.value,
        limit_us=server.slo.limit_us,
        best_w=server.best_w,
        island=not server.meets(server.fastest),
        default_best=server.default_is_best,
        holds=holds(server, result.setting),
        held_over=result.setting is not None and not server.meets(held),
        held_w=held.power_w,
        held_us=held.p99_us,
        regret_pct=regret_pct(server, result.setting),
        regret_early_pct=regret_pct(server, held_after(result, JUDGED_TRIAL)),
        trials=len(truths),
        trials_over=sum(over),
        worst=max(ratios),
        worst_but_first=max(ratios[:far] + ratios[far + 1 :], default=0.0),
        stopped=result.stopped,
        ms_per_trial=1000.0 * statistics.median(trial.chosen_in_s for trial in result.trials),
    )


def problem_of(server: Server, target: ServerTarget) -> Problem:
    """Least power under the server's SLO, with all knobs fixed or all left to the system."""
    objective = Objective.parse("power", server.slo)
    return Problem(server.space.without_auto(), server.slo, objective, server.qps, default=target.baseline())


def held_truth(server: Server, setting: Setting | None) -> Truth:
    """What is held in the end truly shows."""
    return server.default if setting is None else server.truth(setting)


def holds(server: Server, setting: Setting | None) -> str:
    """What a search ended on: `fixed`, `default` or `nothing`."""
    if setting is None:
        return "default" if server.meets(server.default) else "nothing"
    return "default" if is_default(setting) else "fixed"


def regret_pct(server: Server, setting: Setting | None) -> float:
    """How much more power than the best a setting truly draws; 100 over the SLO, infinite for nothing."""
    truth = held_truth(server, setting)
    if not server.meets(truth):
        return math.inf if setting is None else 100.0
    return 100.0 * max(truth.power_w / server.best_w - 1.0, 0.0)


def over_share(outcomes: Sequence[Outcome]) -> float:
    """The share of all trials that broke the SLO."""
    return sum(o.trials_over for o in outcomes) / max(sum(o.trials for o in outcomes), 1)
