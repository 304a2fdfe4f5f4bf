"""What a search has found and what that is worth, for people."""

from __future__ import annotations

from statistics import fmean
from typing import Final

from bayop.cli.terminal.output import console as make_console
from bayop.cli.terminal.output import new_table
from bayop.cli.tune.comparison import sentence
from bayop.cli.tune.outcome import Outcome
from bayop.explain import Explanation
from bayop.measurement import Measurement
from bayop.optimize.base import Prediction, Problem
from bayop.report.ended import ENDED_BECAUSE
from bayop.search import Result
from bayop.slo import Quantities, Slo
from bayop.space import format_value
from bayop.units import HOURS_PER_YEAR, format_in_column

_FAR: Final = 4.0
"""So many times the limit is far from what a search has tried."""


def print_summary(
    outcome: Outcome, baseline: Measurement | None, problem: Problem, *, is_held: bool, is_live: bool, watts: str
) -> None:
    """What was found, whether it is applied now, and what it means in watts, per cent and a year's energy."""
    console, result = make_console(), outcome.result
    trials = f"{len(result.trials)} trial{'s' * (len(result.trials) != 1)}"
    console.print(f"Ended after {trials}: {ENDED_BECAUSE[result.stopped]}.")
    if result.setting is None:
        stays = "; the default is applied" if is_live else ""
        console.print(f"[bold red]No setting is trusted to meet {problem.slo}{stays}.[/bold red]")
        return
    if result.is_default:
        console.print(_default_is_best(problem, baseline, watts))
        return
    text = problem.space.format(result.setting)
    if outcome.setting is None:
        console.print(f"[bold yellow]Not kept:[/bold yellow] {text}{'; the default is applied' if is_live else ''}.")
    elif not is_live:
        console.print(f"[bold green]Found:[/bold green] {text} (no machine was touched)")
    elif is_held:
        console.print(f"[bold green]Applied:[/bold green] {text}")
    else:
        why = "--keep applies it" if outcome.is_worth_holding else "it was not measured beside the default"
        console.print(f"[bold green]Found:[/bold green] {text}; the machine's own settings are back ({why}).")
    if outcome.comparison is not None:
        console.print(sentence(outcome.comparison, problem, watts))
        return
    known, quantities, objective = _known(result, problem)
    power_w = quantities["power_w"]
    console.print(f"{known}: {power_w:.1f} {watts}, {_latencies(quantities, problem.slo)}.")
    if baseline is not None:
        default_w, name = baseline["power_w"], problem.objective.name
        worth = _worth(default_w, power_w, watts)
        if name != "power":
            share = 1.0 - objective / problem.objective.of(baseline)
            worth = f"This setting {'saves' if share >= 0 else 'costs'} {abs(share):.0%} of {name}."
        console.print(
            f"The default draws {default_w:.1f} {watts} at {_default_latencies(baseline, problem.slo)}. {worth}"
        )


def print_explanation(explanation: Explanation, problem: Problem, watts: str) -> None:
    """What the model expects of the result, and of what differs from it in one knob."""
    console, names = make_console(), [limit.quantity for limit in problem.slo.limits]
    table = new_table(drop=[])
    for column in ("instead", "power", "", *(name.removesuffix("_us") for name in names), f"meets {problem.slo}"):
        table.add_column(column, justify="left" if column == "instead" else "right", no_wrap=True)

    def add(label: str, prediction: Prediction, change: str) -> None:
        power = f"{prediction.quantities['power_w']:.1f} {watts}"
        latencies = [_expected(prediction.quantities[limit.quantity], limit.limit_us) for limit in problem.slo.limits]
        table.add_row(label, power, change, *latencies, f"{prediction.slo_probability:.0%}")

    add("the result", explanation.prediction, "")
    for alternative in explanation.alternatives:
        value = format_value(alternative.knob, alternative.value)
        label = f"{alternative.knob} {value}" + (", the fastest" if alternative.move == "fastest" else "")
        change = alternative.prediction.objective / explanation.prediction.objective - 1.0
        add(label, alternative.prediction, f"{change:+.1%}")
    console.print("The model's view of the result, and of what differs from it in one knob:")
    console.print(table)
    setting, space = explanation.setting, problem.space
    for knob in space.knobs:
        if not space.matters(knob.id, setting):
            console.print(f"{knob.id} is not in effect: it matters only with {', '.join(map(str, knob.only_with))}.")


def _expected(latency_us: float, limit_us: float) -> str:
    """A latency that a model expects; far beyond the limit it knows no more than that."""
    far_us = _FAR * limit_us
    return f"{'>' * (latency_us > far_us)}{format_in_column(min(latency_us, far_us), 'us')}"


def _default_is_best(problem: Problem, baseline: Measurement | None, watts: str) -> str:
    """That every knob is better left to the operating system; without a baseline when the search has found `auto`."""
    text = "[bold green]The default is best:[/bold green] no setting that was tried takes less under the SLO."
    if baseline is None:
        return text
    return f"{text} It draws {baseline['power_w']:.1f} {watts} at {_default_latencies(baseline, problem.slo)}."


def _latencies(quantities: Quantities, slo: Slo) -> str:
    """The latencies that the SLO bounds: `p99 486 us, p50 95 us`."""
    return ", ".join(
        f"{limit.quantity.removesuffix('_us')} {quantities[limit.quantity]:.0f} us" for limit in slo.limits
    )


def _default_latencies(baseline: Measurement, slo: Slo) -> str:
    """The same; one alone needs no name, which the sentence before has said."""
    return _latencies(baseline, slo) if slo.also else f"{baseline[slo.quantity]:.0f} us"


def _worth(default_w: float, power_w: float, watts: str) -> str:
    """What a setting saves (or costs) against the default, in watts, per cent and energy a year."""
    saved_w = default_w - power_w
    word = "saves" if saved_w >= 0 else "costs"
    kwh = abs(saved_w) * HOURS_PER_YEAR / 1000
    return (
        f"This setting {word} {abs(saved_w):.1f} {watts} ({abs(saved_w) / default_w:.0%}): "
        f"{kwh:.0f} kWh per server and year at this load."
    )


def _known(result: Result, problem: Problem) -> tuple[str, Quantities, float]:
    """What is known of the setting that was found and of its objective: by the model, else the means of its windows."""
    if result.prediction is not None:
        return "Expected", result.prediction.quantities, result.prediction.objective
    windows = [t.measurement for t in result.trials if t.setting == result.setting and not t.measurement.censored]
    names = set.intersection(*(set(window.quantities) for window in windows))
    means = {name: fmean(window[name] for window in windows) for name in names}
    return "Measured", means, fmean(problem.objective.of(window) for window in windows)
