"""What programs read of `bayop load`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayop.load.generator import Result
    from bayop.load.plan import Plan


def result(plan: Plan, seen: Result) -> dict[str, object]:
    """What one run saw."""
    from bayop.load.agents import Coordinated

    event = _seen(seen)
    if isinstance(seen, Coordinated):
        event["all_clients"] = _seen(seen.everything)
    return {"servers": list(plan.servers), "protocol": plan.dialect, **event}


def _seen(seen: Result) -> dict[str, object]:
    punctual_us = seen.punctual_us()
    return {
        "offered_qps": seen.offered_qps,
        "achieved_qps": seen.achieved_qps,
        "duration_s": seen.duration_s,
        "latency": [
            {
                "quantile": q.quantile,
                "value_us": q.value_us,
                "low_us": q.low_us,
                "high_us": q.high_us,
                "punctual_us": punctual_us[q.quantile],
            }
            for q in seen.quantiles()
        ],
        "mean_us": seen.report.mean_us,
        "miss_ratio": seen.miss_ratio,
        "counts": seen.counts,
        "lateness": seen.lateness,
        "troubles": seen.troubles,
        "problems": seen.problems,
        "valid": not seen.problems,
        "ended_early": seen.report.ended_early,
    }
