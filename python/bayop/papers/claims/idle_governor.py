"""Claims about Yawn, the idle governor that learns ([Y]), against its published 90-minute trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayop.papers.claims.claim import Claim, Finding, Numbers, Verdict
from bayop.papers.claims.judge import judge_saving

if TYPE_CHECKING:
    import polars as pl

    from bayop.papers.claims.evidence import Evidence

_REPORT: Final = "bayop report ../shared/data/yawn_trace_by_minute.csv --out build/yawn"


def _savings(rates: pl.DataFrame, quantity: str) -> pl.Series:
    """Reductions of a quantity by Yawn against menu, one for each rate that both served."""
    import polars as pl

    menu, yawn = (rates.filter(pl.col("governor") == g).select("qps_offered", quantity) for g in ("menu", "yawn"))
    both = menu.join(yawn, on="qps_offered", suffix="_yawn")
    return 1.0 - both[f"{quantity}_yawn"] / both[quantity]


def _tail(evidence: Evidence) -> Finding:
    def numbers(rates: pl.DataFrame) -> Numbers:
        savings = _savings(rates, "p99_us")
        return {"greatest_share": float(max(savings)), "mean_share": float(sum(savings) / len(savings))}

    data, twin = numbers(evidence.table("yawn_by_rate.csv")), numbers(evidence.simulated_yawn)
    by_twin = judge_saving(0.4, twin["greatest_share"])
    return Finding(
        judge_saving(0.4, data["greatest_share"]),
        "Reduction at each of the trace's rates; the greatest is at the lowest, 127.65 us instead of 213.55 us, and it "
        f"shrinks as the load grows. By the twin the verdict would be *{by_twin}*: it has Yawn's p99, but not menu's "
        "tail at the two lowest rates.",
        data,
        twin,
    )


def _power(evidence: Evidence) -> Finding:
    def numbers(rates: pl.DataFrame) -> Numbers:
        savings = _savings(rates, "power_w")
        return {"least_share": float(min(savings)), "greatest_share": float(max(savings))}

    def verdict(savings: Numbers) -> Verdict:
        if savings["least_share"] > 0:
            return Verdict.REPRODUCED
        return Verdict.PARTLY if savings["greatest_share"] > 0 else Verdict.NOT

    data, twin = numbers(evidence.table("yawn_by_rate.csv")), numbers(evidence.simulated_yawn)
    return Finding(
        verdict(data),
        "Reduction at each of the trace's rates: every one is positive. By the twin the verdict would be "
        f"*{verdict(twin)}*: there Yawn takes more than menu at the lowest rates, and hardly less at the others.",
        data,
        twin,
    )


CLAIMS: Final = (
    Claim(
        id="yawn-p99",
        paper="Y",
        place="evaluation",
        statement="memcached's p99 under Yawn against Linux's menu governor",
        printed="up to 40 % less",
        command=f"{_REPORT} --json",
        figure="memcached-5k-requests-s-latency",
        examine=_tail,
    ),
    Claim(
        id="yawn-power",
        paper="Y",
        place="evaluation",
        statement="power under Yawn against Linux's menu governor",
        printed="below menu",
        command=_REPORT,
        figure="memcached-5k-requests-s-savings",
        examine=_power,
    ),
)
