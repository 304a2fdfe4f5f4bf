"""What programs read of a search: the events that `bayop.events` declares, from what they tell of."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

from bayop.cli.tune.outcome import Outcome
from bayop.confirm import Comparison, Round
from bayop.explain import Explanation
from bayop.measurement import Measurement
from bayop.optimize.base import Problem
from bayop.saving import PairedSaving
from bayop.search import Trial
from bayop.slo import Slo
from bayop.space import plain_setting
from bayop.units import round_significant


def of_trial(trial: Trial, slo: Slo, event: Literal["trial", "window"] = "trial") -> dict[str, object]:
    """A trial of the search, or a window of the hold after it."""
    return {
        "event": event,
        event: trial.number,
        "setting": dict(trial.setting),
        "measured": of_window(trial.measurement, slo),
        "meets_slo": trial.meets_slo,
        "cut_short": trial.measurement.cut_short,
        "incumbent": plain_setting(trial.incumbent),
        "chosen_in_s": round_significant(trial.chosen_in_s, 3),
    }


def of_explanation(explanation: Explanation) -> Iterator[dict[str, object]]:
    """Each setting that differs from the result in one knob."""
    for alternative in explanation.alternatives:
        prediction = alternative.prediction
        yield {
            "event": "alternative",
            "knob": alternative.knob,
            "move": alternative.move,
            "value": alternative.value,
            "predicted": {k: round_significant(v) for k, v in prediction.quantities.items()},
            "slo_probability": round_significant(prediction.slo_probability),
            "objective_change": round_significant(prediction.objective / explanation.prediction.objective - 1.0),
        }


def of_pair(number: int, pair: Round, slo: Slo) -> dict[str, object]:
    """A window of the default and one of the result, measured again in turns."""
    windows = {name: of_window(m, slo) | {"cut_short": m.cut_short} for name, m in pair.items()}
    return {"event": "pair", "pair": number, **windows}


def of_result(
    outcome: Outcome, baseline: Measurement | None, problem: Problem, *, undo: str | None
) -> dict[str, object]:
    """What a search and its confirmation came to; `undo` takes back what stays applied, None when nothing does."""
    result, prediction = outcome.result, outcome.result.prediction
    return {
        "event": "result",
        "setting": plain_setting(outcome.setting),
        "held": undo is not None,
        "trials": len(result.trials),
        "stopped": result.stopped,
        "predicted": None
        if prediction is None
        else {k: round_significant(v) for k, v in prediction.quantities.items()},
        "default": None if baseline is None else of_window(baseline, problem.slo),
        "saving": of_saving(outcome, problem),
        "undo": undo,
    }


def of_saving(outcome: Outcome, problem: Problem) -> dict[str, object] | None:
    """The saving of what was found, for programs; None where nothing was compared."""
    event = of_comparison(outcome.comparison, problem)
    setting = outcome.result.setting
    return None if event is None or setting is None else event | {"setting": dict(setting)}


def of_comparison(comparison: Comparison | None, problem: Problem) -> dict[str, object] | None:
    """A comparison for programs.

    Its numbers are `power_w`, `low_w`, `high_w` and `default_w` where power is what is minimised, else `value`, `low`,
    `high` and `default`, in SI units. An end of the interval that is not known is null.
    """
    if comparison is None or comparison.saving is None:
        return None
    event = numbers(comparison.saving)
    if problem.objective.name == "power":
        in_watts = {"value": "power_w", "low": "low_w", "high": "high_w", "default": "default_w"}
        event = {in_watts.get(name, name): value for name, value in event.items()}
    latencies_us = {
        limit.quantity: {name: _finite(median[limit.quantity]) for name, median in comparison.medians.items()}
        for limit in problem.slo.limits
    }
    return event | {"verdict": comparison.verdict, **latencies_us}


def numbers(saving: PairedSaving) -> dict[str, object]:
    """A saving for programs."""
    return {
        "value": _finite(saving.value),
        "low": _finite(saving.low),
        "high": _finite(saving.high),
        "default": _finite(saving.reference),
        "share": round_significant(saving.share),
        "pairs": saving.pairs,
        "significant": saving.significant,
    }


def of_window(measurement: Measurement, slo: Slo) -> dict[str, float]:
    """The quantities of a window that a search is about, for programs."""
    names = ("power_w", *(limit.quantity for limit in slo.limits), "utilization", "qps")
    return {name: round_significant(value) for name in names if (value := measurement.get(name)) is not None}


def _finite(value: float) -> float | None:
    return round_significant(value) if math.isfinite(value) else None
