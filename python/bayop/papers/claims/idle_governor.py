"""Claims about Yawn, the idle governor that learns ([Y]), against its published 90-minute trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayop.papers.claims.claim import Claim, Finding, Numbers, Verdict
from bayop.papers.claims.judge import judge_saving

if TYPE_CHECKING:
    import polars as pl

    from bayop.papers.claims.evidence import Evidence

_SHOW: Final = "bayop study show ../shared/data/yawn_trace_by_minute.csv"


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

    data = numbers(evidence.table("yawn_by_rate.csv"))
    return Finding(
        judge_saving(0.4, data["greatest_share"]),
        "Reduction at each of the trace's rates; the greatest is at the lowest rate, and it shrinks as the load grows. "
        "The twin has Yawn's p99, but not menu's tail at the two lowest rates.",
        data,
        numbers(evidence.simulated_yawn),
    )


def _power(evidence: Evidence) -> Finding:
    def numbers(rates: pl.DataFrame) -> Numbers:
        savings = _savings(rates, "power_w")
        return {"least_share": float(min(savings)), "greatest_share": float(max(savings))}

    data = numbers(evidence.table("yawn_by_rate.csv"))
    return Finding(
        Verdict.REPRODUCED if data["least_share"] > 0 else Verdict.PARTLY,
        "Reduction at each of the trace's rates: every one is positive. On the twin Yawn takes more than menu at the "
        "lowest rates, and hardly less at the others.",
        data,
        numbers(evidence.simulated_yawn),
    )


CLAIMS: Final = (
    Claim(
        id="yawn-p99",
        paper="Y",
        place="evaluation",
        statement="memcached's p99 under Yawn against Linux's menu governor",
        printed="up to 40 % less",
        command=_SHOW,
        figure=None,
        examine=_tail,
    ),
    Claim(
        id="yawn-power",
        paper="Y",
        place="evaluation",
        statement="power under Yawn against Linux's menu governor",
        printed="below menu",
        command=_SHOW,
        figure=None,
        examine=_power,
    ),
)
