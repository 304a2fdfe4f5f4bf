from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bayop.errors import InputError
from bayop.experiments.day.play import CONFIGURATIONS, DayPlan, Progress, play_day
from bayop.experiments.day.record import DayRecord, read_day
from bayop.experiments.day.summary import summarize
from bayop.measurement import Measurement
from bayop.objective import Objective
from bayop.space import AUTO, FREQ_MHZ, RX_USECS
from bayop.target.oracle import Question
from bayop.testing.fakes import Shape
from bayop.testing.plants import FakeOracle


@pytest.fixture(scope="module")
def record(plan: DayPlan) -> DayRecord:
    return play_day(plan, {"linux": FakeOracle(), "ebbrt": FakeOracle(Shape(cycles=20_000))})


def test_every_configuration_serves_the_whole_day(record: DayRecord) -> None:
    assert [run.id for run in record.runs] == [c.id for c in CONFIGURATIONS]
    for run in record.runs:
        assert run.ledger.duration_s == pytest.approx(3 * 3600)
        assert sum(w.phase == "trial" for w in run.windows) == run.trials


def test_each_knob_alone_leaves_the_other_to_the_operating_system(record: DayRecord) -> None:
    for run_id, free in (("itr-only", FREQ_MHZ), ("frequency-only", RX_USECS)):
        run = record.run(run_id)
        assert run is not None
        assert {t.setting[free] for s in run.searches for t in s.trials} == {AUTO}


def test_the_order_of_savings_is_the_expected_one(record: DayRecord) -> None:
    saving = {row.id: row.saving for row in summarize(record)}
    assert saving["linux-default"] == 0
    assert saving["bayop-linux"] > max(saving["itr-only"], 0)
    assert saving["bound-linux"] >= saving["bayop-linux"] - 0.01
    assert saving["bayop-ebbrt"] > saving["bayop-linux"]


def test_bayop_comes_near_the_bound(record: DayRecord) -> None:
    row = next(row for row in summarize(record) if row.id == "bayop-linux")
    assert row.bound_share is not None
    assert row.bound_share > 0.9
    assert row.hours_over < 0.2


def test_the_same_seed_plays_the_same_day_on_any_number_of_threads(plan: DayPlan, record: DayRecord) -> None:
    alone = replace(plan, effort=replace(plan.effort, threads=1))
    again = play_day(alone, {"linux": FakeOracle(), "ebbrt": FakeOracle(Shape(cycles=20_000))})
    assert again == record


def test_a_record_survives_json(record: DayRecord, tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_text(json.dumps(record.to_json(), allow_nan=False), encoding="utf-8")
    back = read_day(path)
    assert back.to_json() == record.to_json()
    assert [r.energy_j for r in summarize(back)] == pytest.approx([r.energy_j for r in summarize(record)])


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"runs": [], "maps": []}'])
def test_what_is_no_record_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "data.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError):
        read_day(path)


def test_progress_ends_at_one_for_every_configuration(plan: DayPlan) -> None:
    shares: dict[str, float] = {}

    def on_progress(progress: Progress) -> None:
        shares[progress.configuration.id] = progress.share

    play_day(plan, {"linux": FakeOracle()}, on_progress)
    linux = [c.id for c in CONFIGURATIONS if c.os == "linux"]
    assert shares == pytest.approx(dict.fromkeys(linux, 1.0))


def test_latency_alone_is_measured_by_latency(plan: DayPlan) -> None:
    fast = replace(plan, objective=Objective.parse("latency", plan.objective.slo))
    record = play_day(fast, {"linux": FakeOracle()})
    rows = {row.id: row for row in summarize(record)}
    assert rows["bayop-linux"].latency_us < rows["linux-default"].latency_us
    assert rows["bound-linux"].bound_share == pytest.approx(1.0)
    bayop, bound = record.run("bayop-linux"), record.run("bound-linux")
    assert bayop is not None
    assert bound is not None
    assert bayop.windows[-1].latency_us == pytest.approx(bound.windows[-1].latency_us, rel=0.05)


def test_a_day_without_linux_has_nothing_to_compare_with(plan: DayPlan) -> None:
    with pytest.raises(InputError, match="compared with Linux"):
        play_day(plan, {"ebbrt": FakeOracle()})


@pytest.mark.parametrize("failure", [KeyboardInterrupt, InputError("broken")])
def test_an_interrupt_or_an_error_ends_every_configuration(
    plan: DayPlan, failure: BaseException | type[BaseException]
) -> None:
    class Failing(FakeOracle):
        def answer(self, cells: Sequence[Question], *, requests: int, threads: int) -> list[Measurement]:
            if cells[0].qps == 5e5:
                raise failure
            return super().answer(cells, requests=requests, threads=threads)

    with pytest.raises((KeyboardInterrupt, InputError)):
        play_day(plan, {"linux": Failing()})
