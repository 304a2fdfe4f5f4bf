"""What people see of a run while it lasts: a bar, and the latency until then."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bayop.load.generator import Result, Watch
    from bayop.load.plan import Plan

_REFRESH_S: Final = 0.5
"""How often the bar is drawn: seldom enough to take nothing from the generator."""


def run_watched(plan: Plan) -> Result:
    """Runs a plan under a bar on stderr, where that is a terminal.

    Raises:
        BayopError: as `generator.run` does.
    """
    from bayop.load import generator

    if not sys.stderr.isatty():
        return generator.run(plan)
    with _bar(plan) as watch:
        return generator.run(plan, watch=watch)


@contextmanager
def _bar(plan: Plan) -> Iterator[Watch]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        start_s = drawn_s = monotonic()
        task = bar.add_task("", total=plan.warmup_s + plan.duration_s)

        def watch(requests: int, p50_us: float | None, p99_us: float | None) -> None:
            nonlocal drawn_s
            now_s = monotonic()
            if now_s >= drawn_s + _REFRESH_S:
                drawn_s = now_s
                bar.update(task, completed=now_s - start_s, description=_seen(requests, p50_us, p99_us), refresh=True)

        yield watch


def _seen(requests: int, p50_us: float | None, p99_us: float | None) -> str:
    from bayop.cli.load.display import microseconds

    if not requests:
        return "warming up"
    return f"{requests:,} requests, p50 {microseconds(p50_us)} us, p99 {microseconds(p99_us)} us"
