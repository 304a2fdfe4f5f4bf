from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from tests.unit.report.conftest import EBBRT, LINUX, POWER, cells_of

from bayop.analysis.best import best_settings
from bayop.analysis.pareto import likely_front
from bayop.analysis.savings import Reduction, savings
from bayop.analysis.summary import WorkloadSummary
from bayop.report.study import text
from bayop.slo import Slo

MINUS = "\N{MINUS SIGN}"
SLO = Slo.parse("p99<350us")


def summary_of(cells: pl.DataFrame, slo: Slo | None = SLO) -> WorkloadSummary:
    return WorkloadSummary(
        keys={"app": "memcached", "qps_offered": 6e5},
        cells=cells,
        trade_off=POWER,
        slo=slo,
        front=likely_front(cells, POWER, seed=0),
        best=best_settings(cells, POWER, 350.0),
        savings=savings(cells, POWER, {"p99<350us": 350.0}),
        knobs={},
    )


@pytest.fixture
def both(systems: pl.DataFrame) -> WorkloadSummary:
    return summary_of(systems)


def test_the_headline_is_the_largest_saving_of_tuning_a_system(both: WorkloadSummary) -> None:
    # EbbRT saves more, against the default of Linux: that is a change of system.
    assert text.headline([both]) == (
        "memcached, 600K requests/s on Linux at 200 us, 2 GHz takes 46.2 % less power than the default, p99<350us."
    )


def test_a_change_of_system_is_said_to_be_one(both: WorkloadSummary) -> None:
    alone = replace(both, savings=[s for s in both.savings if s.condition["os"] == "ebbrt"])
    assert text.headline([alone]) == (
        "memcached, 600K requests/s on EbbRT at 200 us, 1 GHz takes 61.5 % less power than the default of Linux, "
        "p99<350us."
    )


def test_the_largest_of_several_workloads_counts(both: WorkloadSummary) -> None:
    less = [(d, f, p99, power + 30.0 if d else power) for d, f, p99, power in LINUX]
    other = replace(summary_of(cells_of(less)), keys={"app": "silo"})
    assert text.headline([other, both]).startswith("memcached")
    assert text.headline([other]).startswith("silo on Linux at 200 us, 2 GHz takes 23.1 % less")


def test_nothing_to_compare_with_is_said_beside_the_best_setting() -> None:
    without = summary_of(cells_of(EBBRT, os="ebbrt"))
    assert text.headline([without]) == (
        "memcached, 600K requests/s on EbbRT takes the least power, 50 W, at 200 us, 1 GHz, p99<350us. "
        "There is no default to compare with."
    )
    missed = replace(without, best=without.best.clear())
    assert text.headline([missed]) == "No setting meets the SLO."


def test_systems_are_told_apart_in_the_headline() -> None:
    less = [(d, f, p99, power + 30.0 if d else power) for d, f, p99, power in LINUX]
    machines = {"box": LINUX, "box2": less}
    cells = pl.concat(cells_of(points).with_columns(machine=pl.lit(name)) for name, points in machines.items())
    assert text.headline([summary_of(cells)]).startswith("memcached, 600K requests/s on box at 200 us, 2 GHz takes")


@pytest.mark.parametrize(
    ("saved", "said"),
    [
        (Reduction(0.433, 0.424, 0.441), "43.3 % (42.4 to 44.1 %)"),
        (Reduction(-0.05, -0.081, -0.02), f"{MINUS}5.0 % ({MINUS}8.1 to {MINUS}2.0 %)"),
        (Reduction(0.433, None, None), "43.3 %"),
    ],
)
def test_an_interval_stands_behind_its_saving(saved: Reduction, said: str) -> None:
    assert text.with_interval(saved) == said


def test_the_slo_is_told_of_where_there_is_one(both: WorkloadSummary) -> None:
    assert "Left of the dashed line p99&lt;350us is met" in text.about_pareto(both)
    assert "Left of" not in text.about_pareto(replace(both, slo=None))
    cells = cells_of(LINUX)
    assert "Crosses miss p99&lt;350us" in text.about_map(both, cells)
    assert "Crosses" not in text.about_map(replace(both, slo=None), cells)


def test_settings_that_a_map_does_not_show_are_counted(both: WorkloadSummary) -> None:
    cells = cells_of(LINUX)
    assert "not shown" not in text.about_map(both, cells)
    capped = cells.with_columns(pl.Series("asked.power.cap_w", [None, None, 80.0, None, 55.0]))
    assert text.about_map(both, capped).endswith(" 2 settings that use other knobs too are not shown.")


def test_a_v_is_counted_among_the_frequencies() -> None:
    valley = [(d, 1000.0, 50.0, p) for d, p in ((10.0, 80.0), (20.0, 60.0), (40.0, 70.0))]
    slope = [(d, 2000.0, 50.0, p) for d, p in ((10.0, 99.0), (20.0, 95.0), (40.0, 85.0))]
    said = text.about_v_shape(cells_of([*valley, *slope], error=0.01), "power_w")
    assert "between 20 and 40 us" in said
    assert "At 1 of 2 frequencies the minimum lies inside" in said
    alone = text.about_v_shape(cells_of(valley, error=0.01), "power_w")
    assert "as a dot: at 20 us. At 1 of 1 frequency the minimum lies inside" in alone
    assert "it is unknown whether more than noise makes a V" in text.about_v_shape(cells_of(valley), "power_w")
    few = text.about_v_shape(cells_of(LINUX), "power_w")
    assert few == "A line for each frequency; the dashed line is the default."


def test_entries_and_residencies_are_told_apart() -> None:
    assert text.about_idle(entries=True).startswith("Entries into idle states a second")
    assert text.about_idle(entries=False).startswith("Share of time in idle states")


def test_a_borrowed_default_is_said_to_be_one(both: WorkloadSummary) -> None:
    assert text.about_savings(both).endswith(" EbbRT has no default and is compared with the other system's.")
    assert "has no default" not in text.about_savings(summary_of(cells_of(LINUX)))
    assert "1 &minus; power / power of the default" in text.about_savings(both)


def test_intervals_and_certainty_are_claimed_only_where_they_are() -> None:
    surely, unsure = summary_of(cells_of(LINUX, error=0.02)), summary_of(cells_of(LINUX))
    assert "of the default, with 95 % confidence intervals." in text.about_savings(surely)
    assert "of the default; without repeats there are no confidence intervals." in text.about_savings(unsure)
    one, none = Reduction(0.4, 0.3, 0.5), Reduction(0.4, None, None)
    assert text.certainty([one, none]) == ", with 95 % confidence intervals where there are repeats"
    assert "draws of the noise" in text.about_pareto(surely)
    assert "draws of the noise" not in text.about_pareto(unsure)


def test_captions_name_what_is_traded(both: WorkloadSummary) -> None:
    assert "lower in power than" in text.about_pareto(both)
    assert "upper map shows the p99 latency, the lower one the power" in text.about_map(both, both.cells)
    assert "power falls steeply for little p99 latency" in text.about_l_shape(both)


def test_the_method_says_seed_and_version() -> None:
    assert text.about_method(7, "1.2.3")[-1] == "Seed of the draws: 7. BayOp 1.2.3."
