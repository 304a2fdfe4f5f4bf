from __future__ import annotations

from pathlib import Path
from typing import Self

import pytest

from bayop.errors import BayopError, InputError
from bayop.experiments.sweep.load import Load
from bayop.experiments.sweep.plan import Plan, Trial
from bayop.experiments.sweep.repeats import Repeats
from bayop.experiments.sweep.run import Sweep, open_sweep
from bayop.experiments.sweep.trial import Outcome
from bayop.measurement import Measurement
from bayop.study import open_study
from bayop.study.trial import Origin

SETTINGS = [{"nic.rx_usecs": delay, "cpu.freq_mhz": 2000} for delay in ("auto", 2, 50, 100)]


def make(seed: int = 1, repeats: Repeats | None = None, load: Load = Load(qps=1e5)) -> Plan:  # noqa: B008
    return Plan.of(SETTINGS, [load], target={}, repeats=repeats or Repeats(2, 2), seed=seed, version="1")


def origin(plan: Plan) -> Origin:
    return Origin(plan.study, target="twin", machine="fake", vantage="model")


class Workers:
    """Finishes trials last in, first out; fails after some."""

    capacity = 3

    def __init__(self, fails_after: int = 1000) -> None:
        self.ran: list[int] = []
        self._started: list[Trial] = []
        self._fails_after = fails_after

    def start(self, trial: Trial) -> None:
        assert len(self._started) < self.capacity
        self._started.append(trial)

    def finished(self) -> list[tuple[Trial, Outcome]]:
        if len(self.ran) >= self._fails_after:
            raise BayopError("the machine is there")
        trial = self._started.pop()
        self.ran.append(trial.number)
        measurement = Measurement({"power_w": 100.0, "p99_us": 100.0 + trial.seed % 50}, {"p99_us": 0.01})
        return [(trial, Outcome(trial.cell.load or Load(), trial.cell.setting, measurement, None))]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._started = []


def run(plan: Plan, out: Path, workers: Workers) -> None:
    with open_sweep(plan, origin(plan), out) as sweep:
        sweep.run(lambda: workers, lambda *_: None)


def test_a_sweep_becomes_a_study(tmp_path: Path) -> None:
    out = tmp_path / "sweep.parquet"
    plan = make()
    run(plan, out, Workers())
    frame = open_study(out)
    assert frame["trial"].to_list() == list(range(1, 9))
    assert frame["repeat"].to_list() == [1, 2] * 4
    assert frame["study"].unique().to_list() == [plan.study]
    assert frame["asked.nic.rx_usecs"].to_list() == [None, None, 2, 2, 50, 50, 100, 100]
    assert frame["seed"].to_list() == [plan.trial(cell, r).seed for cell in plan.cells for r in (1, 2)]
    assert frame["relative_sd.p99_us"].to_list() == [0.01] * 8


def test_rows_have_the_load_of_their_loop(tmp_path: Path) -> None:
    out = tmp_path / "sweep.parquet"
    run(make(), out, Workers())
    frame = open_study(out)
    assert frame["qps_offered"].unique().to_list() == [1e5]
    assert "message_bytes" not in frame.columns
    out = tmp_path / "closed.parquet"
    run(make(load=Load(message_bytes=64)), out, Workers())
    frame = open_study(out)
    assert frame["message_bytes"].unique().to_list() == [64]
    assert "qps_offered" not in frame.columns


def test_after_a_failure_only_what_is_missing_is_run(tmp_path: Path) -> None:
    plan, out, whole = make(), tmp_path / "sweep.csv", tmp_path / "whole.csv"
    failing, rest = Workers(fails_after=3), Workers()
    with pytest.raises(BayopError, match="the machine is there"):
        run(plan, out, failing)
    assert not out.exists()
    run(plan, out, rest)
    assert sorted(failing.ran + rest.ran) == list(range(1, 9))
    run(plan, whole, Workers())
    assert out.read_bytes() == whole.read_bytes()


def test_a_whole_sweep_needs_nobody(tmp_path: Path) -> None:
    plan, out = make(), tmp_path / "sweep.csv"
    run(plan, out, Workers())
    nobody = Workers(fails_after=0)
    run(plan, out, nobody)
    assert not nobody.ran


def test_how_far_it_is_can_be_asked_for(tmp_path: Path) -> None:
    plan = make(repeats=Repeats(2, 3, "p99_us", 0.001))
    progress: list[tuple[int, int]] = []

    def note(sweep: Sweep) -> None:
        sweep.run(Workers, lambda *_: progress.append((sweep.done, sweep.planned)))

    with open_sweep(plan, origin(plan), tmp_path / "sweep.csv") as sweep:
        assert (sweep.done, sweep.planned, sweep.imprecise) == (0, 8, 4)
        note(sweep)
        assert (sweep.done, sweep.planned, sweep.imprecise) == (12, 12, 4)
    assert [count for count, _ in progress] == list(range(1, 13))


def test_another_plan_leaves_files_alone(tmp_path: Path) -> None:
    out = tmp_path / "sweep.csv"
    run(make(), out, Workers())
    with pytest.raises(InputError, match="the file has trials of another sweep, sweep-e1f5d94c63f3"):
        run(make(seed=2), out, Workers())
    assert [path.name for path in tmp_path.iterdir()] == ["sweep.csv"]
    half = tmp_path / "half.csv"
    with pytest.raises(BayopError):
        run(make(), half, Workers(fails_after=2))
    content = (tmp_path / "half.csv.journal").read_bytes()
    with pytest.raises(InputError, match="the file has trials of another sweep, sweep-e1f5d94c63f3"):
        run(make(seed=2), half, Workers())
    assert (tmp_path / "half.csv.journal").read_bytes() == content
