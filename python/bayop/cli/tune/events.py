"""What programs read of a search: the events that `bayop.events` declares, from what they tell of."""

from __future__ import annotations

from bayop.cli.terminal.output import round_significant
from bayop.cli.tune.confirm import Outcome, saving_event, summary
from bayop.measurement import Measurement
from bayop.optimize.base import Problem
from bayop.search import Trial
from bayop.slo import Slo
from bayop.space import Setting


def of_trial(trial: Trial, slo: Slo) -> dict[str, object]:
    """A trial."""
    return {
        "event": "trial",
        "trial": trial.number,
        "setting": dict(trial.setting),
        "measured": summary(trial.measurement, slo),
        "meets_slo": trial.meets_slo,
        "cut_short": trial.measurement.cut_short,
        "incumbent": _plain(trial.incumbent),
        "chosen_in_s": round_significant(trial.chosen_in_s, 3),
    }


def of_result(
    outcome: Outcome, baseline: Measurement | None, problem: Problem, *, undo: str | None
) -> dict[str, object]:
    """What a search and its confirmation came to; `undo` takes back what stays applied, None when nothing does."""
    result, prediction = outcome.result, outcome.result.prediction
    return {
        "event": "result",
        "setting": _plain(outcome.setting),
        "held": undo is not None,
        "trials": len(result.trials),
        "stopped": result.stopped,
        "predicted": None
        if prediction is None
        else {k: round_significant(v) for k, v in prediction.quantities.items()},
        "default": None if baseline is None else summary(baseline, problem.slo),
        "saving": saving_event(outcome, problem),
        "undo": undo,
    }


def _plain(setting: Setting | None) -> dict[str, float | str] | None:
    return None if setting is None else dict(setting)
