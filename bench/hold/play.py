"""One search and the hold after it, judged window by window on the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.search import cells
from bench.search.cells import Cell
from bench.unknown.drawing import draw_server
from bench.unknown.play import problem_of, regret_pct
from bench.unknown.target import ServerTarget
from bench.unknown.traits import POPULATION

from bayop.optimize import make_optimizer
from bayop.optimize.base import Problem
from bayop.search import Trial, run_search
from bayop.space import Setting
from bayop.target.base import Target

MAX_TRIALS = 15


@dataclass(frozen=True, slots=True)
class Play:
    """What to run.

    Attributes:
        source: What its table is called: a study, or the servers that nobody measured.
        cell: A cell of a study; None for a server of the population of `bench.unknown`.
        seed: Of the measurement noise; of the population, the server's number.
        windows: For how many windows its result is held.
    """

    source: str
    cell: Cell | None
    seed: int
    windows: int


@dataclass(frozen=True, slots=True)
class Window:
    """What was held in one window; the fields are the columns of raw.csv.

    Attributes:
        window: Counts from 1; 0 is the search, whose result it shows.
        regret_pct: How much more power than the best setting's is truly drawn; 100 over the SLO (by more than 2 %) and
            where nothing is held.
        over: Whether the SLO is truly broken by that.
        chosen_in_s: Computing time for the choice.
    """

    source: str
    name: str
    seed: int
    window: int
    regret_pct: float
    over: bool
    chosen_in_s: float


def play(what: Play) -> list[Window]:
    """Runs one search, and holds what it found. Where nothing or the default is held there are no windows but 0."""
    name, target, problem, judge = _study(what, what.cell) if what.cell is not None else _unknown(what)
    held: list[Trial] = []
    result = run_search(
        target,
        problem,
        make_optimizer("grey-box", problem, seed=what.seed),
        max_trials=MAX_TRIALS,
        hold=what.windows,
        on_window=held.append,
    )
    # What the search alone would have held.
    first = result.trials[-1].incumbent if held or result.setting is None else result.setting
    shown = [(0, first, 0.0), *((w.number, w.setting, w.chosen_in_s) for w in held)]
    rows = []
    for number, setting, chosen_in_s in shown:
        regret = judge(setting)
        rows.append(Window(what.source, name, what.seed, number, min(regret, 100.0), regret == 100.0, chosen_in_s))
    return rows


_Judge = Callable[[Setting | None], float]


def _study(what: Play, cell: Cell) -> tuple[str, Target, Problem, _Judge]:
    target = cell.target(what.seed)
    return cell.name, target, cell.problem(target), lambda s: 100.0 * cells.regret(cell, target, s)


def _unknown(what: Play) -> tuple[str, Target, Problem, _Judge]:
    server = draw_server(POPULATION, what.seed)
    target = ServerTarget(server, seed=what.seed)
    return f"server {what.seed}", target, problem_of(server, target), lambda s: regret_pct(server, s)
