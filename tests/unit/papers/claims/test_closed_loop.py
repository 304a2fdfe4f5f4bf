from __future__ import annotations

import polars as pl
import pytest

from bayop.papers.claims.claim import Verdict
from bayop.papers.claims.closed_loop import CLAIMS, MESSAGE_BYTES
from bayop.papers.claims.evidence import Evidence

CELLS = pl.DataFrame(
    {
        "os": ["linux", "linux", "linux", "ebbrt", "linux"],
        "message_bytes": [MESSAGE_BYTES] * 4 + [64],
        "rx_usecs": [None, 8.0, 20.0, 8.0, 8.0],
        "freq_mhz": [None, 2500.0, 1300.0, 2500.0, 2500.0],
        "energy_j": [100.0, 60.0, 35.0, 70.0, 1.0],
        "roundtrip_us": [400.0, 200.0, 300.0, 180.0, 1.0],
        "goodput_mibit_s": [1000.0, 1700.0, 1300.0, 2500.0, 9999.0],
    }
)
TWIN = CELLS.with_columns(pl.col("energy_j", "roundtrip_us") ** 0.5)


@pytest.mark.parametrize(
    ("claim_id", "saved", "verdict"),
    [
        ("netpipe-64k-energy-linux", 0.65, Verdict.REPRODUCED),
        ("netpipe-64k-energy-ebbrt", 0.3, Verdict.PARTLY),
        ("netpipe-64k-time-linux", 0.5, Verdict.REPRODUCED),
        ("netpipe-64k-time-ebbrt", 0.55, Verdict.REPRODUCED),
    ],
)
def test_the_best_fixed_setting_is_held_against_linux_left_alone(
    evidence: Evidence, claim_id: str, saved: float, verdict: Verdict
) -> None:
    evidence.netpipe, evidence.simulated_netpipe = CELLS, TWIN
    finding = next(claim for claim in CLAIMS if claim.id == claim_id).examine(evidence)
    assert finding.verdict is verdict
    assert finding.data == pytest.approx({"reduction_share": saved, "as_ratio_share": 1.0 / (1.0 - saved) - 1.0})
    assert finding.twin["reduction_share"] == pytest.approx(1.0 - (1.0 - saved) ** 0.5)


def test_goodput_is_a_gain(evidence: Evidence) -> None:
    evidence.netpipe, evidence.simulated_netpipe = CELLS, CELLS.with_columns(goodput_mibit_s=pl.lit(5.0))
    finding = next(claim for claim in CLAIMS if claim.id == "netpipe-64k-goodput").examine(evidence)
    assert finding.verdict is Verdict.REPRODUCED
    assert finding.data == pytest.approx({"linux_share": 0.7, "ebbrt_share": 1.5})
    assert finding.twin == {"linux_share": 0.0, "ebbrt_share": 0.0}
