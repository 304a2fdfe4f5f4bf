"""What programs read of `bayop load`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayop.load.generator import Result
    from bayop.load.plan import Plan


def result(plan: Plan, outcome: Result) -> dict[str, object]:
    """What one run saw."""
    from bayop.load.peers import Coordinated

    event = _numbers(outcome)
    if isinstance(outcome, Coordinated):
        event["all_clients"] = _numbers(outcome.everything)
    return {"servers": list(plan.servers), "protocol": plan.dialect, **event}


def _numbers(outcome: Result) -> dict[str, object]:
    punctual_us = outcome.punctual_us()
    return {
        "offered_qps": outcome.offered_qps,
        "achieved_qps": outcome.achieved_qps,
        "duration_s": outcome.duration_s,
        "latency": [
            {
                "quantile": q.quantile,
                "value_us": q.value_us,
                "low_us": q.low_us,
                "high_us": q.high_us,
                "punctual_us": punctual_us[q.quantile],
            }
            for q in outcome.quantiles()
        ],
        "mix": [
            {
                "name": part.name,
                "requests": part.requests,
                "failed": part.failed,
                "latency": [{"quantile": share, "value_us": us} for share, us in part.latency_us.items()],
            }
            for part in outcome.mix()
        ],
        "mean_us": outcome.report.mean_us,
        "miss_ratio": outcome.miss_ratio,
        "counts": outcome.counts,
        "lateness": outcome.lateness,
        "troubles": outcome.troubles,
        "problems": outcome.problems,
        "valid": not outcome.problems,
        "ended_early": outcome.report.ended_early,
    }
