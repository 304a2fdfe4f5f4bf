"""One search, and what of it is written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.search.cells import Cell, meets, regret
from bench.search.contestants import make_contestant

from bayop.search import run_search
from bayop.space import FREQ_MHZ, RX_USECS, Setting


@dataclass(frozen=True, slots=True)
class Record:
    """One trial of one search; the fields are the columns of raw.csv.

    Attributes:
        power_w: As measured.
        p99_us: As measured.
        true_w: On the surface, without noise.
        true_us: On the surface, without noise.
        over_slo: Whether the trial truly broke the SLO, by more than measurements scatter.
        held_itr_us: The incumbent after the trial; empty when there was none.
        held_ok: Whether it truly meets the SLO.
        regret: Of the incumbent after the trial; of the final setting in the last row.
        stopped: How the search ended; in its last row only.
    """

    cell: str
    optimizer: str
    seed: int
    trial: int
    itr_us: float
    freq_mhz: float
    power_w: float
    p99_us: float
    true_w: float
    true_us: float
    over_slo: bool
    held_itr_us: float | None
    held_freq_mhz: float | None
    held_ok: bool
    regret: float
    chosen_in_s: float
    stopped: str


@dataclass(frozen=True, slots=True)
class Search:
    """What to run.

    Attributes:
        max_trials: The budget; optimizers may stop before.
    """

    cell: Cell
    optimizer: str
    seed: int
    max_trials: int


def run(search: Search) -> Sequence[Record]:
    """Runs one search and judges every step of it on the true surface."""
    cell = search.cell
    target = cell.target(search.seed)
    problem = cell.problem(target)
    optimizer = make_contestant(search.optimizer, problem, seed=search.seed)
    result = run_search(target, problem, optimizer, max_trials=search.max_trials)
    records = []
    for trial in result.trials:
        last = trial.number == len(result.trials)
        incumbent = result.setting if last else trial.incumbent
        truth = target.truth(trial.setting)
        records.append(
            Record(
                cell=cell.name,
                optimizer=search.optimizer,
                seed=search.seed,
                trial=trial.number,
                itr_us=float(trial.setting[RX_USECS]),
                freq_mhz=float(trial.setting[FREQ_MHZ]),
                power_w=round(trial.measurement["power_w"], 4),
                p99_us=round(trial.measurement["p99_us"], 3),
                true_w=round(truth["power_w"], 4),
                true_us=round(truth["p99_us"], 3),
                over_slo=not meets(cell, truth["p99_us"]),
                held_itr_us=_value(incumbent, RX_USECS),
                held_freq_mhz=_value(incumbent, FREQ_MHZ),
                held_ok=incumbent is not None and meets(cell, target.truth(incumbent)["p99_us"]),
                regret=round(regret(cell, target, incumbent), 6),
                chosen_in_s=round(trial.chosen_in_s, 6),
                stopped=result.stopped if last else "",
            )
        )
    return records


def _value(setting: Setting | None, knob_id: str) -> float | None:
    return None if setting is None else float(setting[knob_id])
