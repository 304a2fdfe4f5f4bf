"""How people watch a day: a bar for every configuration, then the table and where the report is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from bayop import __version__
from bayop.cli.terminal.output import console as make_console
from bayop.cli.terminal.output import new_table
from bayop.experiments.day.play import CONFIGURATIONS, DayPlan, play_day
from bayop.experiments.day.play import Progress as DayProgress
from bayop.experiments.day.record import DayRecord
from bayop.experiments.day.summary import summarize
from bayop.report.day.page import COLUMNS, table_cells
from bayop.report.day.report import write_report
from bayop.report.day.text import headline, kept, shown, worth
from bayop.target.oracle import Oracle
from bayop.units import format_qps


def show_day(plan: DayPlan, oracles: Mapping[str, Oracle], folder: Path) -> DayRecord:
    """Plays the day with a live display on a terminal (plain lines elsewhere), writes the report, prints the result."""
    console = make_console()
    start_s = perf_counter()
    hours = len(plan.curve.hourly_qps)
    console.print(
        f"[bold]{hours} hour{'s' * (hours > 1)} of {plan.app}[/bold] simulated on the digital twin, "
        f"up to {format_qps(plan.curve.peak_qps, 3)} requests/s: {plan.objective.describe()}, {plan.objective.slo}"
    )
    with _Bars(console, oracles) as bars:
        record = play_day(plan, oracles, bars.on_progress)
        report = write_report(record, folder, __version__, bars.on_file)
    print_result(console, record)
    console.print(f"\n[bold]Report:[/bold] {report}  (figures as SVG and PNG, and data.json, beside it)")
    console.print(f"[dim]{perf_counter() - start_s:.0f} s[/dim]")
    return record


def print_result(console: Console, record: DayRecord) -> None:
    """The table of all configurations and what it means."""
    table = new_table()
    table.add_column("", no_wrap=True)
    for column in COLUMNS:
        table.add_column(column.replace(" ", "\n"), justify="right")
    kinds = {run.id: run.kind for run in record.runs}
    rows = summarize(record)
    for row in rows:
        style = {"bound": "dim", "default": ""}.get(kinds[row.id], "bold" if row.id == "bayop-linux" else "")
        table.add_row(row.label, *table_cells(row, kinds[row.id]), style=style)
    console.print(table)
    console.print(headline(record))
    bayop = next((row for row in rows if row.id == "bayop-linux"), None)
    for sentence in (worth(record), None if bayop is None else kept(record, bayop)):
        if sentence:
            console.print(sentence)


class _Bars:
    """Progress of every configuration; on a pipe, a line when one has ended."""

    def __init__(self, console: Console, oracles: Mapping[str, Oracle]) -> None:
        self._console = console
        self._played = [configuration for configuration in CONFIGURATIONS if configuration.os in oracles]
        self._progress = Progress(
            TextColumn("{task.description:<22}"),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[now]}"),
            console=console,
        )
        self._tasks: dict[str, TaskID] = {}
        self._files: TaskID | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            for configuration in self._played:
                self._tasks[configuration.id] = self._progress.add_task(configuration.label, total=1.0, now="")
            self._files = self._progress.add_task("Report", total=None, start=False, now="")
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def on_progress(self, progress: DayProgress) -> None:
        """Moves a bar; comes from several threads."""
        label, window = progress.configuration.label, progress.window
        if self._tasks:
            now = "" if window is None else f"{window.qps / 1000:4.0f}K/s  {shown(window)}"
            self._progress.update(self._tasks[progress.configuration.id], completed=progress.share, now=now)
        elif progress.share >= 1.0 - 1e-9:
            self._console.print(f"  {label}: played")

    def on_file(self, name: str) -> None:
        """Shows which figure has been written."""
        if self._files is not None:
            self._progress.update(self._files, now=name)
