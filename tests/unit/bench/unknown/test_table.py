"""Every column counts what its name says."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from bench.unknown import page
from bench.unknown.play import Outcome
from bench.unknown.run import main, parser, plan
from bench.unknown.table import markdown, summarise
from bench.unknown.traits import POPULATION, SCENARIOS

from bayop.errors import InputError

GOOD = Outcome(
    scenario="calm", number=0, queueing="one queue", limit_us=500.0, best_w=100.0, island=False, default_best=False,
    holds="fixed", held_over=False, held_w=101.0, held_us=490.0, regret_pct=1.0, regret_early_pct=2.0, trials=6,
    trials_over=1, worst=1.5, worst_but_first=1.5, stopped="converged", ms_per_trial=5.0,
)  # fmt: skip
BROKEN = replace(GOOD, held_over=True, regret_pct=100.0, regret_early_pct=100.0, worst=9.0, worst_but_first=1.2)
NOTHING = replace(GOOD, holds="nothing", regret_pct=math.inf, regret_early_pct=math.inf, trials=4, trials_over=4)


def test_regrets_are_of_what_is_held_and_meets_the_slo() -> None:
    (row,) = summarise([GOOD, replace(GOOD, regret_pct=3.0), BROKEN, NOTHING])
    assert (row.servers, row.held_over, row.nothing) == (4, 1, 1)
    assert (row.regret_mean, row.regret_p90) == (2.0, 3.0)
    assert row.early_p95 == math.inf
    assert row.trials == 5.5
    assert row.over == 7 / 22
    assert (row.worst, row.worst_but_first) == (9.0, 1.5)


def test_islands_are_found_by_what_meets_the_slo() -> None:
    island = replace(GOOD, island=True)
    (row,) = summarise([GOOD, island, replace(BROKEN, island=True), replace(NOTHING, island=True)])
    assert row.islands == (1, 3)


def test_defaults_are_restored_where_they_are_the_best() -> None:
    restored = replace(GOOD, default_best=True, holds="default")
    (row,) = summarise([replace(restored, default_best=False), restored, replace(restored, holds="fixed")])
    assert row.defaults == (1, 2)


def test_a_scenario_is_a_row_and_what_it_has_not_a_dash() -> None:
    lines = markdown(summarise([GOOD, replace(GOOD, scenario="storm"), GOOD])).splitlines()
    assert len(lines) == 4
    assert len({line.count("|") for line in lines}) == 1
    assert lines[2].startswith("| calm | 2 | 0 | 0 | 1 / 1 |")
    assert lines[3].endswith("| 17% | 1.5 | 1.5 | - | - |")
    assert "| 130 | 1.2 |" in markdown(summarise([replace(BROKEN, worst=130.4)]))


def test_nothing_held_anywhere_is_no_number() -> None:
    (line,) = markdown(summarise([NOTHING])).splitlines()[2:]
    assert "| - / - | nothing held / nothing held |" in line


def test_the_plan_has_every_scenario_unless_it_is_told() -> None:
    plays = plan(parser().parse_args(["--servers", "2", "--population", "3"]))
    assert len(plays) == 2 * len(SCENARIOS) + 3
    few = plan(parser().parse_args(["--only", f"drift|{POPULATION}", "--servers", "1", "--population", "2"]))
    assert [(p.scenario, p.number) for p in few] == [("drift", 0), (POPULATION, 0), (POPULATION, 1)]


def test_what_is_not_there_is_refused_with_what_is() -> None:
    assert main(["--only", "calm seas"]) == 2
    assert main(["--optimizer", "oracle"]) == 2
    with pytest.raises(InputError, match="calm seas") as caught:
        plan(parser().parse_args(["--only", "calm seas"]))
    assert caught.value.hint is not None
    assert "cliff without warning" in caught.value.hint


def test_help_lists_every_scenario() -> None:
    shown = " ".join(parser().format_help().split())
    assert all(scenario in shown for scenario in SCENARIOS)


def test_the_page_has_the_newest_table() -> None:
    assert f"<!-- unknown -->\n{page.table()}\n<!-- end -->" in page.PAGE.read_text(encoding="utf-8")
