"""Claims about memcached and silo under an open loop, against the measured cells and the twin's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayop.papers.claims import library_os
from bayop.papers.claims.cells import LEFT_ALONE, cheapest, default_cell, instructions_per_request, least, uncapped_cell
from bayop.papers.claims.claim import Claim, Finding, Numbers, Verdict
from bayop.papers.claims.closed_loop import MESSAGE_BYTES
from bayop.papers.claims.judge import agrees, as_ratio, judge_at_least, judge_number, judge_saving, reduction

if TYPE_CHECKING:
    import polars as pl

    from bayop.papers.claims.evidence import Evidence

_QPS: Final = 600_000.0
_LOW_QPS: Final = 200_000.0
_SHORT_US: Final = 2.0
_LONG_US: Final = 400.0
_TOP_MHZ: Final = 2900.0
_REPORT: Final = "bayop report ../shared/data/study_memcached.csv --slo 'p99<500us' --out build/study"
_WITH_EBBRT: Final = "bayop report ../shared/data/study_memcached.csv --slo 'p99<500us' --with-ebbrt --out build/study"


def _saving(cells: pl.DataFrame, os: str) -> float:
    best = cheapest(cells, os, _QPS, quantile="p99_us", limit_us=500.0)
    return reduction(best["power_w"], default_cell(cells, _QPS)["power_w"])


def _saving_numbers(cells: pl.DataFrame) -> Numbers:
    share = _saving(cells, LEFT_ALONE)
    return {"reduction_share": share, "as_ratio_share": as_ratio(share)}


def _greatest_saving(printed: float, note: str) -> Claim:
    def examine(evidence: Evidence) -> Finding:
        data = _saving_numbers(evidence.measured["memcached"])
        twin = _saving_numbers(evidence.simulated["memcached"])
        return Finding(judge_saving(printed, data["reduction_share"]), note, data, twin)

    return Claim(
        id=f"open-loop-{printed * 100:.0f}",
        paper="Q",
        place="results for memcached",
        statement="memcached at 600K requests/s under p99<500us: the best fixed ITR-delay and frequency against Linux "
        "left alone, energy",
        printed=f"{printed * 100:.0f} % less",
        command=_REPORT,
        figure="memcached-600k-requests-s-savings",
        examine=examine,
    )


def _ebbrt_energy(evidence: Evidence) -> Finding:
    def numbers(cells: pl.DataFrame) -> Numbers:
        ebbrt, linux = (
            cheapest(cells, os, _QPS, quantile="p99_us", limit_us=500.0)["power_w"] for os in ("ebbrt", LEFT_ALONE)
        )
        return {
            "against_the_default_x": default_cell(cells, _QPS)["power_w"] / ebbrt,
            "against_tuned_linux_x": linux / ebbrt,
        }

    data = numbers(evidence.measured["memcached"])
    return Finding(
        judge_at_least(2.0, data["against_the_default_x"]),
        "True against Linux left alone. Against Linux with its own best setting the factor is much smaller: most of "
        "it is the setting, not the system.",
        data,
        numbers(evidence.simulated["memcached"]),
    )


def _instructions_at_long_delay(evidence: Evidence) -> Finding:
    cells = evidence.measured["memcached"]

    def saved(qps: float) -> float:
        long, short = (
            instructions_per_request(uncapped_cell(cells, LEFT_ALONE, qps, rx_usecs=d, freq_mhz=_TOP_MHZ))
            for d in (_LONG_US, _SHORT_US)
        )
        return reduction(long, short)

    data = {"at_200K_share": saved(_LOW_QPS), "at_600K_share": saved(_QPS)}
    return Finding(
        judge_saving(0.3, max(data.values())),
        "Per request, ITR-delay 400 us against 2 us, both at 2.9 GHz.",
        data,
    )


def _instructions_of_the_systems(evidence: Evidence) -> Finding:
    cells, netpipe = evidence.measured["memcached"], evidence.netpipe

    def factor(qps: float, rx_usecs: float) -> float:
        linux, ebbrt = (
            instructions_per_request(uncapped_cell(cells, os, qps, rx_usecs=rx_usecs, freq_mhz=_TOP_MHZ))
            for os in (LEFT_ALONE, "ebbrt")
        )
        return linux / ebbrt

    factors = [factor(qps, rx_usecs) for qps in (_LOW_QPS, _QPS) for rx_usecs in (_SHORT_US, _LONG_US)]
    default, ebbrt = default_cell(netpipe, MESSAGE_BYTES), least(netpipe, "ebbrt", MESSAGE_BYTES, "energy_j")
    data = {
        "netpipe_64_KB_x": default["instructions"] / ebbrt["instructions"],
        "memcached_least_x": min(factors),
        "memcached_greatest_x": max(factors),
    }
    return Finding(
        judge_number(2.5, data["netpipe_64_KB_x"]),
        "NetPIPE: Linux left alone over the cheapest setting of EbbRT. memcached, per request at 2.9 GHz: least with "
        "400 us at 600K requests/s, greatest with 2 us at 200K.",
        data,
        library_os=library_os.factor(evidence.libos, "memcached", 2.5),
    )


def _latency_alone(evidence: Evidence) -> Finding:
    def numbers(cells: pl.DataFrame) -> Numbers:
        shares: dict[str, float] = {}
        for name, qps in (("200K", _LOW_QPS), ("600K", _QPS)):
            fast, default = least(cells, LEFT_ALONE, qps, "p99_us"), default_cell(cells, qps)
            shares[f"p99_less_at_{name}_share"] = reduction(fast["p99_us"], default["p99_us"])
            shares[f"power_more_at_{name}_share"] = -reduction(fast["power_w"], default["power_w"])
        return shares

    data = numbers(evidence.measured["memcached"])
    faster = [data["p99_less_at_200K_share"], data["p99_less_at_600K_share"]]
    dearer = [data["power_more_at_200K_share"], data["power_more_at_600K_share"]]
    holds = min(faster) <= 0.3 <= max(faster) and max(dearer) >= 0.3
    return Finding(
        Verdict.REPRODUCED if holds and agrees(0.4, max(dearer)) else Verdict.PARTLY if holds else Verdict.NOT,
        "The fixed setting of least p99. What it costs depends on the load: most at low load, where the default lets "
        "cores sleep.",
        data,
        numbers(evidence.simulated["memcached"]),
    )


CLAIMS: Final = (
    _greatest_saving(
        0.76,
        "The measured reduction is the other printed number, 43 %: this one is the same measurement as "
        "E_default / E - 1.",
    ),
    _greatest_saving(0.43, "300 us and 1.7 GHz; 1 - E / E_default."),
    Claim(
        id="ebbrt-energy",
        paper="D",
        place="abstract",
        statement="memcached at 600K requests/s under p99<500us: energy on Linux over energy on the library operating "
        "system EbbRT",
        printed="more than 2 x",
        command=_WITH_EBBRT,
        figure="memcached-600k-requests-s-pareto",
        examine=_ebbrt_energy,
    ),
    Claim(
        id="instructions-long-delay",
        paper="D",
        place="study of memcached",
        statement="memcached on Linux: instructions per request with an ITR-delay of 400 us",
        printed="30 % fewer",
        command=_REPORT,
        figure="memcached-600k-requests-s-request",
        examine=_instructions_at_long_delay,
    ),
    Claim(
        id="instructions-ebbrt",
        paper="D",
        place="study of NetPIPE and memcached",
        statement="Instructions on Linux over those on EbbRT, for the same work",
        printed="2.5 x",
        command=_WITH_EBBRT,
        figure="memcached-600k-requests-s-request",
        examine=_instructions_of_the_systems,
    ),
    Claim(
        id="latency-alone",
        paper="D",
        place="appendix A",
        statement="memcached on Linux tuned for p99 alone, against Linux left alone",
        printed="p99 30 % less for up to 40 % more energy",
        command=_REPORT,
        figure="memcached-600k-requests-s-pareto",
        examine=_latency_alone,
    ),
)
