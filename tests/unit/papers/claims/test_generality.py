from __future__ import annotations

import pytest

from bayop.experiments.generality.record import Outcome
from bayop.papers.claims.claim import Verdict
from bayop.papers.claims.evidence import Evidence
from bayop.papers.claims.generality import CLAIMS


def outcome(load_share: float, saving: float) -> Outcome:
    return Outcome(
        service="xapian",
        machine="a machine",
        slo="p99<5ms",
        peak_qps=1000.0,
        load_share=load_share,
        qps=1000.0 * load_share,
        seed=1,
        trial_s=1.0,
        trials=9,
        stopped="converged",
        setting=None,
        default_power_w=100.0,
        default_latency_us=1000.0,
        default_utilization=0.5,
        power_w=100.0 * (1.0 - saving),
        latency_us=2000.0,
        utilization=0.6,
        saving=saving,
        saving_ci=0.01,
        meets_slo=True,
    )


@pytest.mark.parametrize(
    ("at_40", "verdict"),
    [([0.05, 0.2, 0.36], Verdict.REPRODUCED), ([0.2, 0.3], Verdict.PARTLY), ([0.01, 0.02], Verdict.NOT)],
)
def test_the_range_at_40_percent_of_peak_is_what_is_judged(
    evidence: Evidence, at_40: list[float], verdict: Verdict
) -> None:
    evidence.tailbench = [*(outcome(0.4, saving) for saving in at_40), outcome(0.8, 0.01), outcome(0.8, 0.04)]
    finding = CLAIMS[0].examine(evidence)
    assert finding.verdict is verdict
    assert finding.twin == {
        "at_40_least_share": min(at_40),
        "at_40_greatest_share": max(at_40),
        "at_80_least_share": 0.01,
        "at_80_greatest_share": 0.04,
    }
    assert finding.data == {}, "nobody has published measurements"
