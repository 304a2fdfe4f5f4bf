"""How people watch a search: a live table of trials, a progress bar, and what the result is worth."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bayop.cli.terminal.output import console as make_console
from bayop.cli.terminal.output import new_table, progress
from bayop.cli.terminal.tables import FittingTable
from bayop.cli.tune.comparison import describe_window
from bayop.cli.tune.outcome import Outcome
from bayop.cli.tune.summary import print_explanation, print_summary
from bayop.confirm import Round
from bayop.explain import Explanation
from bayop.optimize.base import Problem
from bayop.saving import Looks
from bayop.search import Trial
from bayop.slo import QPS
from bayop.target.base import Target
from bayop.units import format_in_column


class Display:
    """A live table on a terminal; elsewhere a line for every trial, and for every pair of windows, as it ends.

    Of a hold only the windows are shown that missed the SLO, or in which another setting was held than before.
    """

    def __init__(self, target: Target, problem: Problem, args: argparse.Namespace, doubts: Sequence[str]) -> None:
        self._target, self._problem, self._hold = target, problem, args.hold
        self._watts = "W (estimated)" if "power_w" in target.estimated else "W"
        self._trials: list[Trial] = []
        self._windows: list[Trial] = []
        self._console = make_console()
        self._print_doubts(doubts)
        self._console.print(f"[bold]Tuning[/bold] {target.description}: {problem.objective.describe()}, {problem.slo}")
        self._table = _trial_table(problem)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("at most,"),
            TimeElapsedColumn(),
            console=self._console,
        )
        self._trials_task = self._progress.add_task("trials", total=args.max_trials)
        self._windows_task = self._progress.add_task("windows held", total=args.hold, visible=args.hold > 0)

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Shows the search while it runs, and then what was special."""
        is_terminal, shown = self._console.is_terminal, Group(self._table, self._progress)
        with Live(shown, console=self._console, refresh_per_second=8) if is_terminal else nullcontext():
            yield
        self._print_remarks()

    def on_trial(self, trial: Trial) -> None:
        """A trial is over."""
        self._trials.append(trial)
        self._progress.advance(self._trials_task)
        self._show(str(trial.number), trial)

    def on_window(self, window: Trial) -> None:
        """A window of the hold is over."""
        moved = not self._windows or self._windows[-1].setting != window.setting
        self._windows.append(window)
        self._progress.advance(self._windows_task)
        if moved or not window.meets_slo:
            self._show(f"{len(self._trials)}+{window.number}", window)

    @contextmanager
    def comparing(self, looks: Looks) -> Iterator[None]:
        """Shows how far the comparison of the default and the result is."""
        self._console.print("Measuring the default and the result again, in turns:")
        with progress("pairs, at most", looks.most_pairs) as self._pairs:
            yield

    def on_pair(self, number: int, pair: Round) -> None:
        """A window of the default and one of the result are over."""
        self._pairs.advance()
        if not self._console.is_terminal:
            windows = (f"{name} {describe_window(m, self._problem, self._watts)}" for name, m in pair.items())
            self._console.print(f"pair {number}: {'; '.join(windows)}")

    def on_end(
        self, outcome: Outcome, *, undo: str | None, explanation: Explanation | None, doubts: Sequence[str]
    ) -> None:
        """Everything is done; `undo` takes back what stays applied, None when nothing does."""
        problem, is_live = self._problem, self._target.is_live
        print_summary(outcome, problem.default, problem, is_held=undo is not None, is_live=is_live, watts=self._watts)
        if explanation is not None:
            print_explanation(explanation, problem, self._watts)
        self._print_doubts(doubts)
        if undo is not None:
            self._console.print(f"It stays applied until the agent stops, another search begins, or: {undo}")

    def _show(self, label: str, trial: Trial) -> None:
        self._table.add_row(label, *_trial_row(trial, self._trials, self._problem, self._watts))
        if not self._console.is_terminal:
            self._console.print(self._table.last_line())

    def _print_remarks(self) -> None:
        for trial in self._trials:
            if trial.measurement.cut_short is not None:
                self._console.print(f"Trial {trial.number} was cut short: {trial.measurement.cut_short}.")
        if self._windows:
            over = sum(not w.meets_slo for w in self._windows)
            self._console.print(
                f"Held for {len(self._windows)} windows, of which {over or 'none'} missed {self._problem.slo}."
            )
        elif self._hold:
            self._console.print("No window was held: nothing was found that could be.")

    def _print_doubts(self, doubts: Sequence[str]) -> None:
        """What a reader has to know before believing the numbers."""
        for doubt in doubts:
            self._console.print(f"[bold yellow]Warning:[/bold yellow] {doubt}.")


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
        *problem.space.format_each(trial.setting),
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
