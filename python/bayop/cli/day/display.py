"""How people watch a day on the rig: a line for every turn, and what came out."""

from __future__ import annotations

from pathlib import Path

from bayop.cli.terminal.output import console as make_console
from bayop.experiments.rig.day.record import RigDay, Turn
from bayop.experiments.rig.day.summary import work_of
from bayop.report.rig_day.figures import LABELS
from bayop.report.rig_day.report import caveats, headline
from bayop.slo import Slo


class Display:
    """Lines as they come."""

    def __init__(self, record: RigDay) -> None:
        self._record, self._slo = record, Slo.parse(record.slo)
        self._console = make_console()
        hours = len(record.hourly_qps)
        self._console.print(
            f"[bold]{hours} hour{'s' * (hours != 1)} of memcached[/bold], {record.hour_s:.0f} s each, "
            f"up to {max(record.hourly_qps):.0f} requests/s, on {record.machine}: "
            f"least {record.objective} under {record.slo}"
        )
        for sentence in caveats(record):
            self._console.print(sentence)

    def on_page(self, url: str) -> None:
        """The page is served."""
        self._console.print(f"[bold]Watch:[/bold] {url}")

    def on_turn(self, turn: Turn) -> None:
        """A turn is over."""
        work = work_of([turn])
        quantile = self._slo.quantity.removesuffix("_us")
        latency = "-" if turn.latency_us is None else f"{turn.latency_us:.0f}"
        cpu = "-" if work.cpu_us is None else f"{work.cpu_us:.1f}"
        self._console.print(
            f"  hour {turn.hour:2}  {LABELS[turn.who]:7}  {turn.qps:5.0f}/s  {quantile} {latency:>4} us  "
            f"CPU {cpu:>5} us a request  {work.over_share:6.2%} over"
        )

    def on_data(self, path: Path) -> None:
        """The record was written."""
        if self._record.failure is not None:
            self._console.print(
                f"Ended early; what the {len(self._record.turns)} turns until then have shown is in {path}."
            )

    def on_end(self, report: Path) -> None:
        """Everything is done."""
        self._console.print(f"\n{headline(self._record)}")
        self._console.print(f"[bold]Report:[/bold] {report}")
        self._console.print(f"[dim]{self._record.duration_s:.0f} s[/dim]")
