"""How people watch a search: a live table of trials, a progress bar, and what the result is worth."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import fmean
from typing import Final

from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bayop.cli.terminal.output import console as make_console
from bayop.cli.terminal.output import new_table
from bayop.cli.terminal.tables import FittingTable
from bayop.cli.tune.comparison import sentence
from bayop.cli.tune.outcome import Outcome
from bayop.explain import Explanation
from bayop.measurement import Measurement
from bayop.optimize.base import Optimizer, Prediction, Problem
from bayop.report.ended import ENDED_BECAUSE
from bayop.search import Result, Trial, run_search
from bayop.slo import QPS, Quantities, Slo
from bayop.space import format_setting, format_value
from bayop.target.base import Target
from bayop.units import HOURS_PER_YEAR, format_in_column

_FAR: Final = 4.0
"""So many times the limit is far from what a search has tried."""


def show_search(
    target: Target, problem: Problem, optimizer: Optimizer, *, max_trials: int, hold: int, watts: str
) -> Result:
    """Runs the search with a live display on a terminal; elsewhere with a line for every trial, as it ends.

    Of a hold only the windows are shown in which another setting was held than before.
    """
    console = make_console()
    console.print(f"[bold]Tuning[/bold] {target.description}: {problem.objective.describe()}, {problem.slo}")
    table = _trial_table(problem)
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("at most,"),
        TimeElapsedColumn(),
        console=console,
    )
    trials_task = progress.add_task("trials", total=max_trials)
    windows_task = progress.add_task("windows held", total=hold, visible=hold > 0)
    trials: list[Trial] = []
    windows: list[Trial] = []

    def show(label: str, trial: Trial, known: Sequence[Trial]) -> None:
        table.add_row(label, *_trial_row(trial, known, problem, watts))
        if not console.is_terminal:
            console.print(table.last_line())

    def on_trial(trial: Trial) -> None:
        trials.append(trial)
        progress.advance(trials_task)
        show(str(trial.number), trial, trials)

    def on_window(window: Trial) -> None:
        moved = not windows or windows[-1].setting != window.setting
        windows.append(window)
        progress.advance(windows_task)
        if moved or not window.meets_slo:
            show(f"{len(trials)}+{window.number}", window, trials)

    run = partial(
        run_search, target, problem, optimizer, max_trials=max_trials, hold=hold, on_trial=on_trial, on_window=on_window
    )
    if console.is_terminal:
        with Live(Group(table, progress), console=console, refresh_per_second=8):
            result = run()
    else:
        result = run()
    _print_remarks(trials, windows, hold, problem.slo)
    return result


def _print_remarks(trials: Sequence[Trial], windows: Sequence[Trial], hold: int, slo: Slo) -> None:
    console = make_console()
    for trial in trials:
        if trial.measurement.cut_short is not None:
            console.print(f"Trial {trial.number} was cut short: {trial.measurement.cut_short}.")
    if windows:
        over = sum(not w.meets_slo for w in windows)
        console.print(f"Held for {len(windows)} windows, of which {over or 'none'} missed {slo}.")
    elif hold:
        console.print("No window was held: nothing was found that could be.")


def print_doubts(doubts: Sequence[str]) -> None:
    """What a reader has to know before believing the numbers."""
    console = make_console()
    for doubt in doubts:
        console.print(f"[bold yellow]Warning:[/bold yellow] {doubt}.")


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
    text = format_setting(result.setting)
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


def _expected(latency_us: float, limit_us: float) -> str:
    """A latency that a model expects; far beyond the limit it knows no more than that."""
    far_us = _FAR * limit_us
    return f"{'>' * (latency_us > far_us)}{format_in_column(min(latency_us, far_us), 'us')}"


def print_undo(command: str) -> None:
    """How what stays applied is taken back."""
    make_console().print(f"It stays applied until the agent stops, another search begins, or: {command}")


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


def _trial_table(problem: Problem) -> FittingTable:
    table = new_table(drop=["util.", "would hold"])
    table.add_column("trial", justify="right", no_wrap=True)
    for knob_id in problem.space.ids:
        table.add_column(knob_id, justify="right")
    for column in ("power", *(name.removesuffix("_us") for name in problem.slo.quantities), "util.", "SLO"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("would hold", no_wrap=True)
    return table


def _trial_row(trial: Trial, known: Sequence[Trial], problem: Problem, watts: str) -> list[str]:
    """One trial; what would be held is named by the one of the `known` trials that first tried it."""
    first = next((t for t in known if t.setting == trial.incumbent), None)
    power_w, utilization = (trial.measurement.get(name) for name in ("power_w", "utilization"))
    cut_short = trial.measurement.cut_short

    def kept(name: str) -> str:
        value = trial.measurement.get(name)
        if value is None:
            return "-"
        if name == QPS:
            return f"{value:.0f}"
        return f"{'' if cut_short is None else '>'}{format_in_column(value, 'us')}"

    return [
        *(format_value(knob_id, trial.setting[knob_id]) for knob_id in problem.space.ids),
        "-" if power_w is None else f"{power_w:.1f} {watts}",
        *map(kept, problem.slo.quantities),
        "-" if utilization is None else f"{utilization:.2f}",
        "[green]met[/green]"
        if trial.meets_slo
        else "[red]broken[/red]"
        if cut_short is None
        else "[red]cut short[/red]",
        _would_hold(trial, first),
    ]


def _would_hold(trial: Trial, first: Trial | None) -> str:
    if trial.incumbent is None:
        return "default"
    if trial.incumbent == trial.setting:
        return "this"
    return "another" if first is None else f"trial {first.number}"
