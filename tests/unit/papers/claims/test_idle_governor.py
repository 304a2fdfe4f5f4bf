from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from bayop.experiments.idle.record import CoreUse
from bayop.papers.claims.claim import Finding, Verdict
from bayop.papers.claims.evidence import Evidence
from bayop.papers.claims.idle_governor import CLAIMS

# At 1000/s and 2000/s both were measured; at the other rates only one.
RATES = """\
governor,qps_offered,p99_us,power_w
menu,1000,200,50
menu,2000,100,80
menu,4000,100,90
yawn,2000,90,{power_w}
yawn,1000,120,40
yawn,8000,1,1
"""
TWIN = pl.DataFrame(
    {
        "governor": ["menu", "yawn", "menu", "yawn"],
        "qps_offered": [1000, 1000, 2000, 2000],
        "p99_us": [100.0, 90.0, 100.0, 90.0],
        "power_w": [50.0, 55.0, 60.0, 61.0],
    }
)


def examined(evidence: Evidence, folder: Path, claim_id: str, *, power_w: float = 72.0) -> Finding:
    (folder / "yawn_by_rate.csv").write_text(RATES.format(power_w=power_w))
    return next(claim for claim in CLAIMS if claim.id == claim_id).examine(evidence)


def test_the_greatest_reduction_of_p99_is_what_up_to_means(evidence: Evidence, tmp_path: Path) -> None:
    evidence.simulated_yawn = TWIN
    finding = examined(evidence, tmp_path, "yawn-p99")
    assert finding.data == pytest.approx({"greatest_share": 0.4, "mean_share": 0.25})
    assert finding.twin == pytest.approx({"greatest_share": 0.1, "mean_share": 0.1})
    assert finding.verdict is Verdict.REPRODUCED, "the data, and not the twin, are what it goes by"
    assert "By the twin the verdict would be *not*" in finding.note


def test_the_twin_is_asked_at_the_same_rates(evidence: Evidence, tmp_path: Path) -> None:
    (tmp_path / "yawn_by_rate.csv").write_text(RATES.format(power_w=72.0))
    rows = {(row["governor"], row["qps_offered"]): row for row in evidence.simulated_yawn.to_dicts()}
    assert rows.keys() == {(governor, qps) for governor in ("menu", "yawn") for qps in (1000, 2000, 4000, 8000)}
    assert rows["yawn", 8000]["p99_us"] < rows["menu", 8000]["p99_us"]


@pytest.mark.parametrize(
    ("power_w", "least", "verdict"),
    [(72.0, 0.1, Verdict.REPRODUCED), (88.0, -0.1, Verdict.PARTLY)],
)
def test_power_is_below_menu_at_every_rate_or_the_claim_holds_partly(
    evidence: Evidence, tmp_path: Path, power_w: float, least: float, verdict: Verdict
) -> None:
    evidence.simulated_yawn = TWIN
    finding = examined(evidence, tmp_path, "yawn-power", power_w=power_w)
    assert finding.data == pytest.approx({"least_share": least, "greatest_share": 0.2})
    assert finding.verdict is verdict
    assert "By the twin the verdict would be *not*" in finding.note, "it takes more at every rate"


def used(first: float, last: float, deep: float) -> CoreUse:
    """Two cores that operate for a share of their time each, of which the last sleeps deeply for some of it."""
    return CoreUse(1e3, "", 50.0, {"C1": [1.0 - first, 1.0 - last - deep], "C6": [0.0, deep]})


@pytest.mark.parametrize(
    ("last", "verdict"), [(0.105, Verdict.REPRODUCED), (0.15, Verdict.PARTLY), (0.25, Verdict.NOT)]
)
def test_cores_are_alike_without_the_balancer_at_every_rate(evidence: Evidence, last: float, verdict: Verdict) -> None:
    evidence.residency_under_yawn = [
        (used(0.3, 0.3, 0.0), used(0.9, 0.1, 0.0)),
        (used(0.1, last, 0.0), used(0.9, 0.1, 0.0)),
    ]
    claim = next(claim for claim in CLAIMS if claim.id == "yawn-spread")
    finding = claim.examine(evidence)
    assert finding.twin == pytest.approx({"most_over_least_x": last / 0.1})
    assert finding.verdict is verdict


@pytest.mark.parametrize(
    ("last", "deep", "verdict"),
    [(0.1, 0.5, Verdict.REPRODUCED), (0.1, 0.1, Verdict.PARTLY), (0.4, 0.5, Verdict.NOT)],
)
def test_work_gathers_with_the_balancer_and_who_is_left_alone_sleeps_deeply(
    evidence: Evidence, last: float, deep: float, verdict: Verdict
) -> None:
    evidence.residency_under_yawn = [(used(0.3, 0.3, 0.2), used(0.6, last, deep))]
    claim = next(claim for claim in CLAIMS if claim.id == "yawn-gathered")
    finding = claim.examine(evidence)
    assert finding.twin["time_of_first_least_x"] == pytest.approx(2.0)
    assert finding.verdict is verdict


def test_the_day_is_compared_minute_by_minute(evidence: Evidence, tmp_path: Path) -> None:
    evidence.simulated_yawn = TWIN
    (tmp_path / "yawn_trace_by_minute.csv").write_text(
        "governor,minute,qps_offered,p99_us,power_w\n"
        "menu,1,1000,200,60\nmenu,2,2000,100,40\noff,1,1000,1,99\nyawn,2,2000,90,50\nyawn,1,1000,90,30\n"
    )
    claim = next(claim for claim in CLAIMS if claim.id == "yawn-day")
    finding = claim.examine(evidence)
    assert finding.data == pytest.approx(
        {"energy_less_share": 0.2, "minutes_of_less_power_share": 0.5, "minutes_of_shorter_p99_share": 1.0}
    )
    assert finding.verdict is Verdict.PARTLY, "in half of the minutes it takes more"
    assert finding.twin["energy_less_share"] < 0.0
    assert "By the twin" not in finding.note, "it gives the same"
