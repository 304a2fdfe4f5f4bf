"""Experiments made of several runs: a scan over loads, and the search for the highest load that meets an SLO."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bayop.load.generator import Result
from bayop.load.plan import Plan
from bayop.slo import Slo

Runner = Callable[[Plan], Result]
"""What runs a plan: this machine, or a coordinator of several."""

WINDOWS: Final = 4
"""Most windows at one load while the interval of the quantile contains the limit."""
RESOLUTION: Final = 0.02
"""The search ends when the answer is known to this share of it."""
FIRST_QPS: Final = 1000.0
"""Where a search begins when nobody says."""
_MOST_QPS: Final = 1e8


@dataclass(frozen=True, slots=True)
class Step:
    """What was seen at one load.

    Attributes:
        qps: The offered load.
        result: All windows at this load together.
        windows: How many there were.
    """

    qps: float
    result: Result
    windows: int = 1


def scan(plan: Plan, loads_qps: Sequence[float], run: Runner) -> Iterator[Step]:
    """Runs a plan at every load, in order."""
    for qps in loads_qps:
        step = Step(qps, run(plan.at(qps)))
        yield step
        if step.result.report.interrupted:
            return


def measure(plan: Plan, qps: float, slo: Slo, run: Runner) -> Step:
    """Runs a plan at one load, in several windows where one does not decide.

    A window that the generator spoilt by its own lateness is thrown away; further windows are added while the
    confidence interval of the SLO's quantile contains its limit.
    """
    result = run(plan.at(qps))
    for windows in range(1, WINDOWS):
        late = not result.lateness["is_on_time"]
        if result.report.interrupted or (not late and _decides(result, slo)):
            return Step(qps, result, windows)
        again = run(plan.at(qps))
        if late:
            result = again
        else:
            result.append(again)
    return Step(qps, result, WINDOWS)


def _decides(result: Result, slo: Slo) -> bool:
    (quantile,) = result.quantiles([slo.quantile])
    low_us, high_us = quantile.low_us or 0.0, quantile.high_us or math.inf
    return quantile.value_us is None or not low_us <= slo.limit_us <= high_us


def search(plan: Plan, slo: Slo, run: Runner, *, first_qps: float = FIRST_QPS) -> Iterator[Step]:
    """Looks for the highest load that meets an SLO; `highest` reads it off the steps.

    The load is doubled until the SLO breaks (or halved until it is met), and what lies between is bisected. A step
    whose result is spoilt by the generator itself counts as broken: the generator can't vouch for it.
    """
    good_qps, bad_qps, qps = 0.0, math.inf, first_qps
    while 1.0 <= qps <= _MOST_QPS and (bad_qps - good_qps) > RESOLUTION * good_qps:
        step = measure(plan, qps, slo, run)
        yield step
        if step.result.report.interrupted:
            return
        if is_good(step, slo):
            good_qps = qps
        else:
            bad_qps = qps
        if math.isinf(bad_qps):
            qps *= 2.0
        elif not good_qps:
            qps /= 2.0
        else:
            qps = (good_qps + bad_qps) / 2.0


def is_good(step: Step, slo: Slo) -> bool:
    """Whether a step meets the SLO and nothing spoils its result."""
    return step.result.meets(slo) and not step.result.problems


def highest(steps: Sequence[Step], slo: Slo) -> Step | None:
    """The step with the highest load that meets the SLO; None when there is none."""
    return max((step for step in steps if is_good(step, slo)), key=lambda step: step.qps, default=None)
