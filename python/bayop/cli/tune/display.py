"""How people watch a search: a live table of trials, a progress bar, and what the result is worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bayop.cli.terminal.output import console as make_console
from bayop.cli.terminal.output import new_table
from bayop.cli.terminal.tables import FittingTable
from bayop.cli.tune.comparison import sentence
from bayop.cli.tune.outcome import Outcome
from bayop.measurement import Measurement
from bayop.optimize.base import Optimizer, Problem
from bayop.search import Result, Trial, run_search
from bayop.space import format_setting, format_value
from bayop.target.base import Target
from bayop.units import HOURS_PER_YEAR, format_quantity

_STOPPED: Final = {
    "converged": "no safe setting promises an improvement worth a trial",
    "infeasible": "no setting is believed to meet the SLO",
    "exhausted": "every setting was tried",
    "budget": "the trial budget is used up",
    "interrupted": "interrupted by Ctrl-C",
}


def show_search(target: Target, problem: Problem, optimizer: Optimizer, *, max_trials: int, watts: str) -> Result:
    """Runs the search with a live display on a terminal; elsewhere with a line for every trial, as it ends."""
    console = make_console()
    console.print(f"[bold]Tuning[/bold] {target.description}: {problem.objective.describe()}, {problem.slo}")
    table = _trial_table(problem)
    progress = Progress(
        TextColumn("trials"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("at most,"),
        TimeElapsedColumn(),
        console=console,
    )
    task = progress.add_task("trials", total=max_trials)

    trials: list[Trial] = []

    def on_trial(trial: Trial) -> None:
        trials.append(trial)
        table.add_row(*_trial_row(trials, problem, watts))
        progress.advance(task)
        if not console.is_terminal:
            console.print(table.last_line())

    if console.is_terminal:
        with Live(Group(table, progress), console=console, refresh_per_second=8):
            result = run_search(target, problem, optimizer, max_trials=max_trials, on_trial=on_trial)
    else:
        result = run_search(target, problem, optimizer, max_trials=max_trials, on_trial=on_trial)
    for trial in trials:
        if trial.measurement.cut_short is not None:
            console.print(f"Trial {trial.number} was cut short: {trial.measurement.cut_short}.")
    return result


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
    console.print(f"Ended after {trials}: {_STOPPED[result.stopped]}.")
    if result.setting is None:
        stays = "; the default is applied" if is_live else ""
        console.print(f"[bold red]No setting is trusted to meet {problem.slo}{stays}.[/bold red]")
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
    if result.prediction is None:
        return
    quantities = result.prediction.quantities
    power_w, latency_us = quantities["power_w"], quantities[problem.slo.quantity]
    console.print(f"Expected: {power_w:.1f} {watts}, {problem.slo.quantity.removesuffix('_us')} {latency_us:.0f} us.")
    if baseline is not None:
        default_w, default_us = baseline["power_w"], baseline[problem.slo.quantity]
        console.print(
            f"The default draws {default_w:.1f} {watts} at {default_us:.0f} us. {_worth(default_w, power_w, watts)}"
        )


def print_undo(command: str) -> None:
    """How what stays applied is taken back."""
    make_console().print(f"It stays applied until the agent stops, another search begins, or: {command}")


def _worth(default_w: float, power_w: float, watts: str) -> str:
    """What a setting saves (or costs) against the default, in watts, per cent and energy a year."""
    saved_w = default_w - power_w
    word = "saves" if saved_w >= 0 else "costs"
    kwh = abs(saved_w) * HOURS_PER_YEAR / 1000
    return (
        f"This setting {word} {abs(saved_w):.1f} {watts} ({abs(saved_w) / default_w:.0%}): "
        f"{kwh:.0f} kWh per server and year at this load."
    )


def _trial_table(problem: Problem) -> FittingTable:
    table = new_table(drop=["util.", "would hold"])
    table.add_column("trial", justify="right", no_wrap=True)
    for knob_id in problem.space.ids:
        table.add_column(knob_id, justify="right")
    for column in ("power", problem.slo.quantity.removesuffix("_us"), "util.", "SLO"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("would hold", no_wrap=True)
    return table


def _trial_row(trials: Sequence[Trial], problem: Problem, watts: str) -> list[str]:
    """The last trial; the incumbent is named by the trial that first tried it."""
    trial = trials[-1]
    incumbent = next((t.number for t in trials if t.setting == trial.incumbent), None)
    power_w, latency_us, utilization = (
        trial.measurement.get(name) for name in ("power_w", problem.slo.quantity, "utilization")
    )
    cut_short = trial.measurement.cut_short
    return [
        str(trial.number),
        *(format_value(knob_id, trial.setting[knob_id]) for knob_id in problem.space.ids),
        "-" if power_w is None else f"{power_w:.1f} {watts}",
        "-" if latency_us is None else f"{'' if cut_short is None else '>'}{format_quantity(latency_us, 'us', 3)}",
        "-" if utilization is None else f"{utilization:.2f}",
        "[green]met[/green]"
        if trial.meets_slo
        else "[red]broken[/red]"
        if cut_short is None
        else "[red]cut short[/red]",
        "default" if incumbent is None else "this" if incumbent == trial.number else f"trial {incumbent}",
    ]
