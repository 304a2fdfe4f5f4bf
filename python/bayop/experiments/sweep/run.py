"""A sweep from its plan to its study: it goes on where an earlier run of the same plan ended, however that ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bayop.errors import InputError
from bayop.experiments.sweep.plan import Plan, Trial
from bayop.experiments.sweep.schedule import Schedule
from bayop.experiments.sweep.trial import Outcome
from bayop.experiments.sweep.workers import Workers
from bayop.measurement import Measurement
from bayop.study import open_study
from bayop.study.journal import Journal
from bayop.study.trial import Origin, trial_row


class Sweep:
    """The trials of a plan, those that are done and those that are not. `open_sweep` makes one."""

    def __init__(self, plan: Plan, origin: Origin, journal: Journal) -> None:
        self._plan, self._origin, self._journal = plan, origin, journal
        frame = journal.frame()
        rows = [] if frame is None else frame.iter_rows(named=True)
        self._schedule = Schedule(plan, {row["trial"]: _measurement(row) for row in rows})

    @property
    def done(self) -> int:
        """How many trials were measured."""
        return self._schedule.done

    @property
    def planned(self) -> int:
        """How many trials are known to be needed, done ones included."""
        return self._schedule.planned

    @property
    def imprecise(self) -> int:
        """How many cells are not known as well as was asked for, as far as they were measured."""
        return self._schedule.imprecise

    def run(self, make_workers: Callable[[], Workers], on_trial: Callable[[Trial, Outcome], None]) -> None:
        """Runs the trials that are left and writes the study.

        Args:
            make_workers: Makes those who run them; not called when none is left.
            on_trial: Called after every trial, when it is on disk.

        Raises:
            BayopError: a trial failed, or a file can't be written. What was measured is kept.
        """
        if self.done < self.planned:
            with make_workers() as workers:
                self._run(workers, on_trial)
        self._journal.finish()

    def _run(self, workers: Workers, on_trial: Callable[[Trial, Outcome], None]) -> None:
        running = 0
        while True:
            while running < workers.capacity and (trial := self._schedule.next()) is not None:
                workers.start(trial)
                running += 1
            if not running:
                return
            for ended, outcome in workers.finished():
                running -= 1
                self._journal.append(self._row(ended, outcome))
                self._schedule.see(ended, outcome.measurement)
                on_trial(ended, outcome)

    def _row(self, trial: Trial, outcome: Outcome) -> dict[str, object]:
        return trial_row(
            self._origin,
            trial=trial.number,
            asked=trial.cell.setting,
            effective=outcome.effective,
            measurement=outcome.measurement,
            qps=outcome.load.qps,
            message_bytes=outcome.load.message_bytes,
            repeat=trial.repeat,
            seed=trial.seed,
            started_at=outcome.started_at,
        )


@contextmanager
def open_sweep(plan: Plan, origin: Origin, out: Path) -> Iterator[Sweep]:
    """The sweep as earlier runs of the same plan left it.

    Args:
        plan: What is measured.
        origin: What all its trials share; its study is the plan's.
        out: The study that it becomes. A journal stands beside it until it is whole.

    Raises:
        InputError: the file or its journal is of something else, or another process writes it.
    """
    if out.exists():
        _check_study(plan, open_study(out, columns=["study"])["study"].unique().to_list(), out)
    with Journal(out) as journal:
        _check_study(plan, {row["study"] for row in journal.rows()}, journal.path)
        yield Sweep(plan, origin, journal)


def _check_study(plan: Plan, studies: Iterable[object], path: Path) -> None:
    others = sorted(str(study) for study in studies if study != plan.study)
    if others:
        raise InputError(
            "a sweep must go on with the same plan, seed and version",
            wrong=f"the file has trials of another sweep, {others[0]}",
            value=others[0],
            place=str(path),
            hint=f"this sweep is {plan.study}: choose another file, or remove this one",
        )


def _measurement(row: Mapping[str, object]) -> Measurement:
    """What a schedule needs to know of a trial that was done before."""
    cut_short = row.get("cut_short")
    numbers = {name: value for name, value in row.items() if isinstance(value, float)}
    return Measurement(numbers, cut_short=None if cut_short is None else str(cut_short))
