"""The tables count what their heads say, and the page has those of the committed rows."""

from __future__ import annotations

from dataclasses import replace

from bench.knobs import page
from bench.knobs.cost import Cost
from bench.knobs.tables import Outcome, costs_table, regrets_table

GOOD = Outcome(
    seed=0, server="one", optimizer="grey-box", swept=3000, best_w=90.0, regret_pct=1.0, trials=10, trials_over=1,
    stopped="converged", ms_per_trial=4.0,
)  # fmt: skip
HOPELESS = replace(GOOD, seed=1, best_w=None, regret_pct=None, trials=4, trials_over=4, stopped="infeasible")
BROKEN = replace(GOOD, seed=2, regret_pct=100.0)


def test_regrets_are_of_servers_that_can_meet_their_slo() -> None:
    lines = regrets_table([GOOD, HOPELESS, BROKEN, replace(HOPELESS, optimizer="ax")]).splitlines()
    assert lines[2] == "| grey-box | 3 | 2 | 50.50 / 100.00 | 1 | 8.0 | 10% | 4 ms |"
    assert lines[3] == "| ax | 1 | 0 | - | 0 | 4.0 | 0% | 4 ms |"


def test_costs_are_told_for_each_number_of_knobs() -> None:
    assert costs_table([Cost(2, 15, 4.0, 9.0, 65.4)]).splitlines()[2] == "| 2 | 15 | 4 / 9 | 65 |"


def test_the_page_has_the_newest_tables() -> None:
    shown = page.PAGE.read_text(encoding="utf-8")
    for name, table in page.tables():
        assert f"<!-- {name} -->\n{table}\n<!-- end -->" in shown, name
