"""How people watch a live experiment: a line for every setting, and what came out."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bayop.cli.terminal.output import console as make_console
from bayop.experiments.rig.experiment import Stage
from bayop.experiments.rig.record import LiveRecord, Point
from bayop.optimize.base import Problem
from bayop.report.live.report import caveats, headline
from bayop.space import format_setting

_TITLES: Final[dict[Stage, str]] = {
    "sweep": "Sweep",
    "search": "Search",
    "again": "Default and winners again, in turns",
}


class Display:
    """Lines as they come."""

    def __init__(self, record: LiveRecord, problem: Problem) -> None:
        self._record, self._problem = record, problem
        self._console = make_console()
        self._stage: Stage | None = None
        self._console.print(
            f"[bold]Tuning[/bold] {record.machine}: {problem.objective.describe()}, {problem.slo}, "
            f"{problem.qps:,.0f} requests/s"
        )
        for sentence in caveats(record):
            self._console.print(sentence)
        self._console.print(f"\n[bold]Default[/bold]\n{self._line(record.default)}")

    def on_point(self, stage: Stage, point: Point) -> None:
        """A setting was measured."""
        if stage != self._stage:
            self._console.print(f"\n[bold]{_TITLES[stage]}[/bold]")
            self._stage = stage
        self._console.print(self._line(point))

    def on_data(self, path: Path) -> None:
        """The record was written."""
        if self._record.failure is not None:
            measured = len(self._record.sweep) + len(self._record.search)
            self._console.print(f"Ended early; what the {measured} settings until then have shown is in {path}.")

    def on_end(self, _shortfall: float | None, report: Path) -> None:
        """Everything is done."""
        self._console.print(f"\n{headline(self._record, self._problem)}")
        for doubt in self._record.doubts:
            self._console.print(f"[yellow]warning:[/yellow] {doubt}")
        self._console.print(f"[bold]Report:[/bold] {report}")
        self._console.print(f"[dim]{self._record.duration_s:.0f} s[/dim]")

    def _line(self, point: Point) -> str:
        slo, quantities = self._problem.slo, point.quantities
        power_w, latency_us = quantities.get("power_w"), quantities.get(slo.quantity)
        watts = "W (estimated)" if self._record.estimated else "W"
        words = [
            f"{format_setting(point.setting) or 'nothing set':55}",
            f"{slo.quantity.removesuffix('_us')} {'-' if latency_us is None else f'{latency_us:6.0f}'} us",
            "" if power_w is None else f"{power_w:6.1f} {watts}",
            self._verdict(point),
        ]
        return "  " + "  ".join(words).rstrip()

    def _verdict(self, point: Point) -> str:
        if point.cut_short is not None:
            return f"[red]cut short: {point.cut_short}[/red]"
        return "" if point.meets(self._problem.slo) else "[red]over[/red]"
