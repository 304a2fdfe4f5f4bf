from __future__ import annotations

import polars as pl
import pytest

from bayop.papers.claims.claim import Finding, Verdict
from bayop.papers.claims.closed_loop import MESSAGE_BYTES
from bayop.papers.claims.evidence import Evidence
from bayop.papers.claims.open_loop import CLAIMS

# os, requests/s, ITR-delay, frequency, power, p99, instructions; each window has 1000 requests a second for a second.
ROWS = (
    ("linux", 600e3, None, None, 130.0, 140.0, 9e6),
    ("linux", 600e3, 2.0, 2900.0, 150.0, 98.0, 5e6),
    ("linux", 600e3, 400.0, 2900.0, 100.0, 450.0, 4e6),
    ("linux", 600e3, 300.0, 1700.0, 74.1, 490.0, 4e6),
    ("linux", 600e3, 400.0, 1300.0, 60.0, 900.0, 4e6),
    ("ebbrt", 600e3, 2.0, 2900.0, 80.0, 60.0, 2.5e6),
    ("ebbrt", 600e3, 400.0, 2900.0, 50.0, 450.0, 2e6),
    ("linux", 200e3, None, None, 50.0, 100.0, 9e6),
    ("linux", 200e3, 2.0, 2900.0, 70.0, 80.0, 10e6),
    ("linux", 200e3, 400.0, 2900.0, 45.0, 430.0, 7e6),
    ("ebbrt", 200e3, 2.0, 2900.0, 40.0, 50.0, 4e6),
    ("ebbrt", 200e3, 400.0, 2900.0, 30.0, 420.0, 3.5e6),
)
NAMES = ("os", "qps_offered", "rx_usecs", "freq_mhz", "power_w", "p99_us", "instructions")
CELLS = pl.DataFrame(ROWS, NAMES, orient="row").with_columns(
    cap_w=pl.lit(None, pl.Float64), qps=pl.lit(1000.0), duration_s=pl.lit(1.0)
)
NETPIPE = pl.DataFrame(
    {
        "os": ["linux", "ebbrt", "ebbrt"],
        "message_bytes": [MESSAGE_BYTES] * 3,
        "rx_usecs": [None, 8.0, 2.0],
        "energy_j": [9.0, 4.0, 5.0],
        "instructions": [5e9, 2e9, 1e9],
    }
)


def examined(evidence: Evidence, claim_id: str, cells: pl.DataFrame = CELLS) -> Finding:
    evidence.measured, evidence.netpipe = {"memcached": cells}, NETPIPE
    evidence.simulated = {"memcached": CELLS.with_columns(power_w=pl.lit(100.0))}
    return next(claim for claim in CLAIMS if claim.id == claim_id).examine(evidence)


@pytest.mark.parametrize(
    ("claim_id", "verdict"), [("open-loop-43", Verdict.REPRODUCED), ("open-loop-76", Verdict.AS_RATIO)]
)
def test_one_saving_is_two_printed_numbers(evidence: Evidence, claim_id: str, verdict: Verdict) -> None:
    finding = examined(evidence, claim_id)
    assert finding.data == pytest.approx({"reduction_share": 0.43, "as_ratio_share": 0.43 / 0.57})
    assert finding.twin == {"reduction_share": 0.0, "as_ratio_share": 0.0}
    assert finding.verdict is verdict


def test_ebbrt_is_held_against_linux_left_alone_and_against_linux_tuned(evidence: Evidence) -> None:
    finding = examined(evidence, "ebbrt-energy")
    assert finding.data == pytest.approx({"against_the_default_x": 2.6, "against_tuned_linux_x": 74.1 / 50.0})
    assert finding.verdict is Verdict.REPRODUCED
    dear = CELLS.with_columns(power_w=pl.when(os="ebbrt").then(85.0).otherwise("power_w"))
    assert examined(evidence, "ebbrt-energy", dear).verdict is Verdict.PARTLY


def test_a_long_delay_saves_instructions_at_one_frequency(evidence: Evidence) -> None:
    finding = examined(evidence, "instructions-long-delay")
    assert finding.data == pytest.approx({"at_200K_share": 0.3, "at_600K_share": 0.2})
    assert finding.verdict is Verdict.REPRODUCED


def test_systems_are_compared_for_the_same_work(evidence: Evidence) -> None:
    """NetPIPE: EbbRT's cheapest setting is the one of 4 J. memcached: 2.5, 2, 2 and 2 times the instructions."""
    finding = examined(evidence, "instructions-ebbrt")
    assert finding.data == pytest.approx(
        {"netpipe_64_KB_x": 2.5, "memcached_least_x": 2.0, "memcached_greatest_x": 2.5}
    )
    assert finding.verdict is Verdict.REPRODUCED


@pytest.mark.parametrize(
    ("default_w", "verdict"), [(50.0, Verdict.REPRODUCED), (52.0, Verdict.PARTLY), (65.0, Verdict.NOT)]
)
def test_least_latency_costs_power_most_of_all_at_a_low_load(
    evidence: Evidence, default_w: float, verdict: Verdict
) -> None:
    is_low = (pl.col("qps_offered") == 200e3) & pl.col("rx_usecs").is_null()
    cells = CELLS.with_columns(power_w=pl.when(is_low).then(default_w).otherwise("power_w"))
    finding = examined(evidence, "latency-alone", cells)
    assert finding.data == pytest.approx(
        {
            "p99_less_at_200K_share": 0.2,
            "p99_less_at_600K_share": 0.3,
            "power_more_at_200K_share": 70.0 / default_w - 1.0,
            "power_more_at_600K_share": 20.0 / 130.0,
        }
    )
    assert finding.verdict is verdict
