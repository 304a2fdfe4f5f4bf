"""What is searched: a cell is one operating system under one load of a study, with one SLO."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.judge import TOLERANCE

from bayop.errors import InputError
from bayop.objective import Objective
from bayop.optimize.base import Problem
from bayop.recorded.rows import read_rows, study_target
from bayop.recorded.target import StudyTarget
from bayop.slo import Slo
from bayop.space import Setting

# The studies that measure power and p99 at loads of a service.
STUDIES = ("study_memcached.csv", "study_silo.csv")
SLOS_US = (200.0, 500.0)


@dataclass(frozen=True, slots=True)
class Cell:
    """One problem to search, with its answer.

    Attributes:
        best_w: Least true power of any setting whose true p99 meets the SLO.
    """

    study: Path
    os: str
    qps: float
    slo_us: float
    best_w: float

    @property
    def name(self) -> str:
        """The cell as a reader would call it."""
        return f"{self.study.stem.removeprefix('study_')} {self.os} {self.qps / 1000:g}K p99<{self.slo_us:g}us"

    def target(self, seed: int) -> StudyTarget:
        """A fresh target whose measurement noise depends on the seed."""
        return study_target(self.study, os=self.os, qps=self.qps, seed=seed)

    def problem(self, target: StudyTarget) -> Problem:
        """Least power under the cell's SLO."""
        slo = Slo(0.99, self.slo_us)
        return Problem(target.space, slo, Objective.parse("power", slo), self.qps)


def find_cells(data: Path) -> Iterator[Cell]:
    """Every cell that has a grid to search and a setting that meets its SLO."""
    for name in STUDIES:
        path = data / name
        for os, qps in sorted({(r.os, r.qps) for r in read_rows(path)}):
            try:
                target = study_target(path, os=os, qps=qps, seed=0)
            except InputError:
                continue  # no complete grid: nothing to interpolate
            truths = [target.truth(s) for s in target.space.settings()]
            for slo_us in SLOS_US:
                best_w = min((t["power_w"] for t in truths if t["p99_us"] < slo_us), default=None)
                if best_w is not None:
                    yield Cell(path, os, qps, slo_us, best_w)


def regret(cell: Cell, target: StudyTarget, setting: Setting | None) -> float:
    """True power over the best setting's, minus 1; 1 for no setting and for one that truly breaks the SLO."""
    if setting is None:
        return 1.0
    truth = target.truth(setting)
    return max(truth["power_w"] / cell.best_w - 1.0, 0.0) if meets(cell, truth["p99_us"]) else 1.0


def meets(cell: Cell, p99_us: float) -> bool:
    """Whether a true latency meets the SLO, within the scatter of measurements."""
    return p99_us <= TOLERANCE * cell.slo_us
