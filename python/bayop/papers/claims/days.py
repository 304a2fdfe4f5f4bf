"""Claims about the 24-hour experiment ([D] section 4.2), played on the twin; the papers publish no raw data of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayop.papers.claims.claim import Claim, Finding
from bayop.papers.claims.judge import as_ratio, judge_parts, judge_saving
from bayop.units import HOUR_S

if TYPE_CHECKING:
    from bayop.experiments.day.record import RunRecord
    from bayop.papers.claims.evidence import Evidence

CONFIGURATIONS: Final = ("itr-only", "frequency-only", "bayop-linux", "bayop-ebbrt")
"""What the experiment compares with Linux left alone, the fifth."""

SAVINGS: Final = (("p99<500us", 0.5), ("p90<500us", 0.6), ("p99<200us", 0.3))
"""The SLOs of the experiment and the savings of "up to" so much that are printed for memcached."""

_HOURS: Final = 24


def hourly_energy_j(run: RunRecord) -> list[float]:
    """Energy of every hour; a window that crosses the hour is divided."""
    energy = [0.0] * _HOURS
    for window in run.windows:
        hour = int(window.start_s // HOUR_S)
        while hour < _HOURS and hour * HOUR_S < window.end_s:
            inside_s = min(window.end_s, (hour + 1) * HOUR_S) - max(window.start_s, hour * HOUR_S)
            energy[hour] += run.ledger.power_of(window) * inside_s
            hour += 1
    return energy


def _greatest_hour(evidence: Evidence, app: str, slo: str, run_id: str) -> float:
    record = evidence.day(app, slo)
    run = record.run(run_id)
    default = hourly_energy_j(record.runs[0])
    return max(1.0 - e / d for e, d in zip(hourly_energy_j(run) if run else default, default, strict=True))


def _savings(evidence: Evidence, app: str, slo: str, objective: str = "power") -> dict[str, float]:
    from bayop.experiments.day.summary import summarize

    rows = {row.id: row.saving for row in summarize(evidence.day(app, slo, objective))}
    return {f"{id_.replace('-', '_')}_share": rows[id_] for id_ in CONFIGURATIONS}


def _up_to(slo: str, printed: float) -> Claim:
    def examine(evidence: Evidence) -> Finding:
        hour = _greatest_hour(evidence, "memcached", slo, "bayop-linux")
        twin = {
            "greatest_hour_share": hour,
            "as_ratio_share": as_ratio(hour),
            "whole_day_share": _savings(evidence, "memcached", slo)["bayop_linux_share"],
        }
        return Finding(judge_saving(printed, hour), "The greatest saving of an hour; every trial is in it.", {}, twin)

    return Claim(
        id=f"day-memcached-{slo.replace('<', '-')}",
        paper="D",
        place="section 4.2",
        statement=f"memcached's day under {slo}: energy of BayOp on Linux against Linux left alone",
        printed=f"up to {printed * 100:.0f} % less",
        command=f"bayop demo --slo '{slo}' --out build/day",
        figure="power",
        examine=examine,
    )


def _order(app: str, slo: str) -> Claim:
    def examine(evidence: Evidence) -> Finding:
        twin = _savings(evidence, app, slo)
        single = max(twin["itr_only_share"], twin["frequency_only_share"])
        both, ebbrt = twin["bayop_linux_share"], twin["bayop_ebbrt_share"]
        holds = [both >= single, ebbrt >= both, both > 0.0]
        note = "Savings of the whole day against Linux left alone."
        if both <= 0.0:
            note += " Linux left alone breaks this SLO at most hours, and what comes near it costs more."
        return Finding(judge_parts(holds), note, {}, twin)

    return Claim(
        id=f"day-order-{app}-{slo.replace('<', '-')}",
        paper="D",
        place="sections 4.2 and 4.2.1",
        statement=f"{app}'s day under {slo}, five configurations: both knobs save at least what the better single knob "
        "saves, and EbbRT saves most",
        printed="a figure",
        command=f"bayop demo --app {app} --slo '{slo}' --with-ebbrt --out build/day",
        figure="power",
        examine=examine,
    )


def _latency_alone(evidence: Evidence) -> Finding:
    from bayop.experiments.day.summary import summarize

    rows = {row.id: row for row in summarize(evidence.day("memcached", "p99<500us", "latency"))}
    default, bayop = rows["linux-default"], rows["bayop-linux"]
    twin = {"p99_less_share": 1.0 - bayop.latency_us / default.latency_us, "energy_more_share": -bayop.saving}
    verdict = judge_saving(0.3, twin["p99_less_share"])
    return Finding(verdict, "Means over the day; the twin's default policy has 10 % too short a p99.", {}, twin)


CLAIMS: Final = (
    *(_up_to(slo, printed) for slo, printed in SAVINGS),
    *(_order(app, slo) for app in ("memcached", "silo") for slo, _ in SAVINGS),
    Claim(
        id="day-latency-alone",
        paper="D",
        place="appendix A",
        statement="memcached's day tuned for p99 alone, against Linux left alone",
        printed="p99 30 % less for up to 40 % more energy",
        command="bayop demo --objective latency --out build/day",
        figure="margin",
        examine=_latency_alone,
    ),
)
