"""Claims about a specialised system on an old machine ([C]), against its published measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayop.papers.claims import library_os
from bayop.papers.claims.claim import Claim, Finding
from bayop.papers.claims.judge import judge_number, judge_range, judge_saving, reduction

if TYPE_CHECKING:
    import polars as pl

    from bayop.papers.claims.evidence import Evidence

_LIMIT_US: Final = 500.0
_OLD: Final = "node1"
_NEW: Final = "node3"
_PER_REQUEST: Final = "Medians of instructions / (qps x duration_s) by load, on node1, of the trials that are not early"


def peak_qps(runs: pl.DataFrame, node: str, os: str) -> float:
    """The highest offered load that an operating system on a node serves with a median p99 below 500 us.

    Linux with the performance governor, as the paper has it; first trials under another name left out.
    """
    import polars as pl

    some = runs.filter(
        pl.col("node") == node,
        pl.col("os") == os,
        pl.col("series") == "main",
        pl.col("governor").is_in(["performance", "none"]),
    )
    medians = some.group_by("qps_offered").agg(pl.col("p99_us").median())
    return float(max(medians.filter(pl.col("p99_us") < _LIMIT_US)["qps_offered"].to_list()))


def _peaks(evidence: Evidence) -> Finding:
    data = {}
    for app in ("memcached", "silo"):
        runs = evidence.table(f"systor_{app}.csv")
        data[f"{app}_x"] = peak_qps(runs, _OLD, "ebbrt") / peak_qps(runs, _NEW, "linux")
    return Finding(
        judge_number(1.75, data["memcached_x"]),
        "The highest rates of which EbbRT on node1 and Linux on node3 (performance) have a row under p99<500us: 2.8 "
        "and 1.6 million requests/s for memcached. For silo the newer machine is ahead.",
        data,
    )


def _instructions(runs: pl.DataFrame) -> dict[str, dict[str, float]]:
    """Instructions per request on the old machine, by load where both systems were measured, then by system."""
    import polars as pl

    mine = runs.filter(
        pl.col("node") == _OLD, pl.col("series") == "main", pl.col("instructions_net").is_not_null()
    ).with_columns(each=pl.col("instructions_net") / pl.col("requests"))
    medians = mine.group_by("qps_offered", "os").agg(pl.col("each").median()).sort("qps_offered")
    by_load: dict[str, dict[str, float]] = {}
    for row in medians.iter_rows(named=True):
        by_load.setdefault(f"{row['qps_offered'] / 1000:.0f}K", {})[row["os"]] = row["each"]
    return {load: both for load, both in by_load.items() if len(both) > 1}


def _memcached_instructions(evidence: Evidence) -> Finding:
    both = _instructions(evidence.table("systor_memcached.csv"))
    data = {f"at_{load}_x": each["linux"] / each["ebbrt"] for load, each in both.items()}
    return Finding(
        judge_number(5.0, max(data.values())),
        f"{_PER_REQUEST}; Linux batches more as the load grows.",
        data,
        library_os=library_os.factor(evidence.libos, "memcached", 5.0),
    )


def _silo_instructions(evidence: Evidence) -> Finding:
    both = _instructions(evidence.table("systor_silo.csv"))
    data = {f"at_{load}_share": reduction(each["ebbrt"], each["linux"]) for load, each in both.items()}
    return Finding(
        judge_saving(0.22, max(data.values())),
        f"{_PER_REQUEST}; the difference shrinks as the load grows.",
        data,
        library_os=library_os.factor(evidence.libos, "tpcc", 1 / (1 - 0.22)),
    )


def _carbon(evidence: Evidence) -> Finding:
    import polars as pl

    table = evidence.table("systor_cci.csv")
    old = table.filter(pl.col("os") == "ebbrt")
    both = table.filter(pl.col("os") == "linux").join(old, on="app", validate="m:1", suffix="_on_ebbrt")
    columns = {
        "as_coded": "cci_notebook_mg_per_request",
        "right_units": "cci_units_fixed_with_network_5y_mg_per_request",
        "without_network": "cci_units_fixed_no_network_5y_mg_per_request",
    }
    data: dict[str, float] = {}
    for name, column in columns.items():
        factors = (both[column] / both[f"{column}_on_ebbrt"]).to_list()
        data |= {f"{name}_least_x": min(factors), f"{name}_greatest_x": max(factors)}
    return Finding(
        judge_range(2.0, 6.0, data["right_units_least_x"], data["right_units_greatest_x"]),
        "The published arithmetic mixes units; with right units and a life of five years the factors are nearly the "
        "same, because they are mostly ratios of request rates.",
        data,
    )


CLAIMS: Final = (
    Claim(
        id="old-machine-peaks",
        paper="C",
        place="results for memcached",
        statement="Peak rate of EbbRT on a machine of 2014 over Linux on one of 2021",
        printed="1.75 x",
        command="bayop report ../shared/data/systor_memcached.csv --with-ebbrt --out build/systor",
        figure=None,
        examine=_peaks,
    ),
    Claim(
        id="memcached-instructions",
        paper="C",
        place="results for memcached",
        statement="memcached: instructions per request on Linux over those on EbbRT",
        printed="almost 5 x",
        command="bayop study export ../shared/data/systor_memcached.csv --out build/systor_memcached.csv",
        figure=None,
        examine=_memcached_instructions,
    ),
    Claim(
        id="silo-instructions",
        paper="C",
        place="results for silo",
        statement="silo: instructions per request on EbbRT against Linux",
        printed="22 % fewer",
        command="bayop study export ../shared/data/systor_silo.csv --out build/systor_silo.csv",
        figure=None,
        examine=_silo_instructions,
    ),
    Claim(
        id="carbon-intensity",
        paper="C",
        place="abstract",
        statement="Computational carbon intensity of Linux, old machine or new, over EbbRT on the old machine",
        printed="2 to 6 x",
        command="bayop carbon ../shared/data/systor_cci.csv --out build/carbon",
        figure="carbon_sources",
        examine=_carbon,
    ),
)
