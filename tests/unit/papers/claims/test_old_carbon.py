from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from bayop.papers.claims.claim import Finding, Verdict
from bayop.papers.claims.evidence import Evidence
from bayop.papers.claims.old_carbon import CLAIMS, peak_qps
from bayop.papers.claims.page import say_numbers
from bayop.papers.claims.record import Row

COLUMNS = "node,os,governor,series,qps_offered,p99_us,requests,instructions_net"


def runs(*rows: str) -> str:
    return "\n".join([COLUMNS, *rows]) + "\n"


def examined(evidence: Evidence, claim_id: str) -> Finding:
    return next(claim for claim in CLAIMS if claim.id == claim_id).examine(evidence)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two services on two machines. memcached: peaks of 2800K and 1600K; silo: 180K and 200K requests/s."""
    memcached = runs(
        "node1,ebbrt,none,main,800000,90,100,1000",
        "node1,linux,performance,main,800000,90,100,4000",
        "node1,ebbrt,none,main,400000,80,100,1000",
        "node1,linux,performance,main,400000,80,100,4500",
        "node1,ebbrt,none,main,600000,85,100,1000",
        "node1,ebbrt,none,main,2800000,499,100,",
        "node3,linux,performance,main,1600000,499,100,",
        "node3,linux,performance,main,2000000,501,100,",
    )
    silo = runs(
        "node1,ebbrt,none,main,180000,100,100,900",
        "node1,linux,performance,main,180000,100,100,1000",
        "node1,ebbrt,none,main,90000,100,100,800",
        "node1,linux,performance,main,90000,100,100,1000",
        "node3,linux,performance,main,200000,100,100,",
    )
    (tmp_path / "systor_memcached.csv").write_text(memcached)
    (tmp_path / "systor_silo.csv").write_text(silo)
    return tmp_path


def test_a_peak_is_the_highest_load_with_a_median_below_500_us() -> None:
    table = pl.read_csv(
        runs(
            "node1,linux,performance,main,1000,100,1,1",
            "node1,linux,performance,main,2000,499,1,1",
            "node1,linux,performance,main,2000,499,1,1",
            "node1,linux,performance,main,2000,9000,1,1",
            "node1,linux,performance,main,3000,499,1,1",
            "node1,linux,performance,main,3000,500,1,1",
            "node1,linux,performance,main,3000,501,1,1",
            "node1,linux,powersave,main,4000,100,1,1",
            "node1,linux,performance,first,5000,100,1,1",
            "node3,linux,performance,main,6000,100,1,1",
            "node1,ebbrt,none,main,7000,100,1,1",
        ).encode()
    )
    assert peak_qps(table, "node1", "linux") == 2000.0
    assert peak_qps(table, "node1", "ebbrt") == 7000.0


@pytest.mark.usefixtures("folder")
def test_the_old_machines_peak_is_held_against_the_new_ones(evidence: Evidence) -> None:
    finding = examined(evidence, "old-machine-peaks")
    assert finding.data == pytest.approx({"memcached_x": 1.75, "silo_x": 0.9})
    assert finding.verdict is Verdict.REPRODUCED


@pytest.mark.usefixtures("folder")
def test_instructions_are_compared_at_each_load_that_both_served(evidence: Evidence) -> None:
    memcached, silo = (examined(evidence, f"{app}-instructions") for app in ("memcached", "silo"))
    assert memcached.data == pytest.approx({"at_400K_x": 4.5, "at_800K_x": 4.0})
    assert silo.data == pytest.approx({"at_90K_share": 0.2, "at_180K_share": 0.1})
    assert (memcached.verdict, silo.verdict) == (Verdict.REPRODUCED, Verdict.REPRODUCED)


def test_carbon_is_judged_with_right_units(evidence: Evidence, tmp_path: Path) -> None:
    names = ("cci_notebook", "cci_units_fixed_with_network_5y", "cci_units_fixed_no_network_5y")
    header = ",".join(["app", "os", *(f"{name}_mg_per_request" for name in names)])
    rows = ("kv,linux,7,4.2,9", "kv,ebbrt,2,2,1", "kv,linux,14.8,11.8,12", "db,linux,20,20,40", "db,ebbrt,4,4,4")
    (tmp_path / "systor_cci.csv").write_text("\n".join([header, *rows, ""]))
    finding = examined(evidence, "carbon-intensity")
    assert finding.verdict is Verdict.REPRODUCED
    assert finding.data == pytest.approx({
        "as_coded_least_x": 3.5, "as_coded_greatest_x": 7.4, "right_units_least_x": 2.1, "right_units_greatest_x": 5.9,
        "without_network_least_x": 9.0, "without_network_greatest_x": 12.0,
    })  # fmt: skip


def test_a_factor_of_carbon_is_rounded_once(evidence: Evidence, tmp_path: Path) -> None:
    columns = "cci_notebook", "cci_units_fixed_with_network_5y", "cci_units_fixed_no_network_5y"
    header = ",".join(["app", "os", *(f"{c}_mg_per_request,ratio_to_ebbrt_{c}" for c in columns)])
    linux, ebbrt = ",".join(["2.4824,7.415"] * 3), ",".join(["0.3348,1"] * 3)
    (tmp_path / "systor_cci.csv").write_text(f"{header}\nkv,linux,{linux}\nkv,ebbrt,{ebbrt}\n")
    claim = next(claim for claim in CLAIMS if claim.id == "carbon-intensity")
    assert "as coded greatest 7.41 x" in say_numbers(Row.of(claim, claim.examine(evidence)).data)
