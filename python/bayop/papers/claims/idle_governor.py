"""Claims about Yawn, the idle governor that learns ([Y]), against its published 90-minute trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayop.papers.claims.claim import Claim, Finding, Numbers, Verdict
from bayop.papers.claims.judge import judge_number, judge_parts, judge_saving

if TYPE_CHECKING:
    import polars as pl

    from bayop.experiments.idle.record import CoreUse
    from bayop.papers.claims.evidence import Evidence

_REPORT: Final = "bayop report ../shared/data/yawn_trace_by_minute.csv --out build/yawn"
_CORES: Final = "bayop idle cores --idle-governor yawn --out build/idle-cores"


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


def _spread(evidence: Evidence) -> Finding:
    ratios = [max(use.operating) / min(use.operating) for use, _ in evidence.residency_under_yawn]
    twin = {"most_over_least_x": max(ratios)}
    note = "Over the trace's rates, the core that operates most over the one that does least, without the balancer."
    return Finding(judge_number(1.0, twin["most_over_least_x"]), note, {}, twin)


def _gathered(evidence: Evidence) -> Finding:
    firsts = [with_it.operating[0] / without.operating[0] for without, with_it in evidence.residency_under_yawn]
    lasts = [with_it.operating[-1] / without.operating[-1] for without, with_it in evidence.residency_under_yawn]
    deeper = [_deep(with_it) > _deep(without) for without, with_it in evidence.residency_under_yawn]
    twin = {
        "time_of_first_least_x": min(firsts),
        "time_of_last_greatest_x": max(lasts),
        "last_sleeps_deeper_share": sum(deeper) / len(deeper),
    }
    gathers = twin["time_of_first_least_x"] > 1.0 > twin["time_of_last_greatest_x"]
    verdict = Verdict.PARTLY if gathers else Verdict.NOT
    if gathers and all(deeper):
        verdict = Verdict.REPRODUCED
    note = (
        "Over the trace's rates, the time that a core operates with the balancer over that without it; and at how many "
        "of them the last core is longer in C3 and C6 with it. At the highest nothing sleeps deeply with or without."
    )
    return Finding(verdict, note, {}, twin)


def _deep(use: CoreUse) -> float:
    """Share of time of the last core in the states in which its clock stands."""
    return sum(shares[-1] for state, shares in use.residency.items() if state in ("C3", "C6"))


def _day(evidence: Evidence) -> Finding:
    import polars as pl

    def numbers(minutes: pl.DataFrame) -> Numbers:
        menu, yawn = (minutes.filter(pl.col("governor") == g) for g in ("menu", "yawn"))
        both = menu.join(yawn, on="minute", suffix="_yawn")
        shares = both.select(
            energy_less_share=1.0 - pl.col("power_w_yawn").sum() / pl.col("power_w").sum(),
            minutes_of_less_power_share=(pl.col("power_w_yawn") < pl.col("power_w")).mean(),
            minutes_of_shorter_p99_share=(pl.col("p99_us_yawn") < pl.col("p99_us")).mean(),
        )
        return shares.row(0, named=True)

    def verdict(found: Numbers) -> Verdict:
        of_minutes = (found[name] > 0.5 for name in found if name.startswith("minutes"))
        return judge_parts([found["energy_less_share"] > 0.0, *of_minutes])

    trace = evidence.table("yawn_trace_by_minute.csv")
    asked = trace.select("governor", "minute", "qps_offered")
    data, twin = numbers(trace), numbers(asked.join(evidence.simulated_yawn, on=["governor", "qps_offered"]))
    note = "Over the trace's 90 minutes, minute by minute; the twin's are those of its rates."
    if verdict(twin) is not verdict(data):
        note += f" By the twin the verdict would be *{verdict(twin)}*."
    return Finding(verdict(data), note, data, twin)


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
    Claim(
        id="yawn-spread",
        paper="Y",
        place="Fig. 3",
        statement="Without the balancer all cores that serve spend their time alike",
        printed="a figure",
        command=_CORES,
        figure="idle-cores",
        examine=_spread,
    ),
    Claim(
        id="yawn-gathered",
        paper="Y",
        place="Fig. 6",
        statement="With the balancer work gathers on the first cores, and the others sleep more deeply",
        printed="a figure",
        command=_CORES,
        figure="idle-cores",
        examine=_gathered,
    ),
    Claim(
        id="yawn-day",
        paper="Y",
        place="Fig. 8",
        statement="Over the trace Yawn takes less power than menu, at a shorter p99",
        printed="a figure",
        command="bayop idle day ../shared/data/yawn_trace_by_minute.csv --slo 'p99<150us' --out build/idle-day",
        figure="idle-day",
        examine=_day,
    ),
)
