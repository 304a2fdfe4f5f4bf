"""`bayop load --scan` and `--search`: a row for every load that was tried."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bayop.cli.load import events, expectations
from bayop.cli.load.display import interval, microseconds
from bayop.cli.terminal.output import console, new_table, print_json

if TYPE_CHECKING:
    from bayop.cli.terminal.tables import FittingTable
    from bayop.load.experiment import Runner, Step
    from bayop.load.plan import Plan
    from bayop.slo import Slo

_COLUMNS = ("offered", "answered", "p50", "p99", "95 % interval", "p99.9", "lost")
_BAR_WIDTH = 30


def run(args: argparse.Namespace, plan: Plan, runner: Runner) -> int:
    """Tries the loads and prints them; 1 when a scan has a result that is no good, or no load meets the SLO.

    Expectations are compared with every load of a scan.
    """
    from bayop.load import experiment
    from bayop.load.expectation import judge

    if args.search is None:
        steps = _follow(experiment.scan(plan, args.scan, runner), plan, json=args.json)
        if not args.json:
            _plot(steps)
        verdicts = ((step, list(judge(step.result, args.expect))) for step in steps)
        all_met = [expectations.print_verdicts(each, json=args.json, qps=step.qps) for step, each in verdicts]
        return 0 if all(all_met) and not any(step.result.problems for step in steps) else 1
    first_qps = args.qps or experiment.FIRST_QPS
    steps = _follow(experiment.search(plan, args.search, runner, first_qps=first_qps), plan, json=args.json)
    best = experiment.highest(steps, args.search)
    if args.json:
        print_json({"event": "highest", "slo": str(args.search), "qps": best.qps if best else None})
    else:
        console().print(_verdict(best, steps, args.search))
    return 0 if best else 1


def _follow(steps: Iterator[Step], plan: Plan, *, json: bool) -> list[Step]:
    from rich.live import Live

    history: list[Step] = []
    if json:
        for step in steps:
            history.append(step)
            print_json({"event": "step", "qps": step.qps, "windows": step.windows, **events.result(plan, step.result)})
    else:
        screen = console()
        with Live(_table(history), console=screen, auto_refresh=False, transient=True) as live:
            for step in steps:
                history.append(step)
                live.update(_table(history), refresh=screen.is_terminal)
                if not screen.is_terminal:
                    screen.print(_table(history).last_line())
        if screen.is_terminal:
            screen.print(_table(history))
        console().print(
            "Loads in requests/s, latencies from the intended send time in us; the interval is that of p99."
        )
        for step in history:
            for problem in step.result.problems:
                console().print(f"at {step.qps:,.0f}: {problem}")
    if history and history[-1].result.report.interrupted:
        raise KeyboardInterrupt
    return history


def _table(steps: Sequence[Step]) -> FittingTable:
    table = new_table(drop=["lost", "95 % interval", "p50"])
    for column in _COLUMNS:
        table.add_column(column, justify="right")
    for step in steps:
        p50, p99, p999 = step.result.quantiles([0.5, 0.99, 0.999])
        table.add_row(
            f"{step.qps:,.0f}",
            f"{step.result.achieved_qps:,.0f}",
            *(microseconds(q.value_us) for q in (p50, p99)),
            interval(p99),
            microseconds(p999.value_us),
            f"{step.result.lost:,}",
        )
    return table


def _plot(steps: Sequence[Step]) -> None:
    """p99 over the load, on a logarithmic axis from the smallest."""
    p99s = [(step.qps, q.value_us) for step in steps for q in step.result.quantiles([0.99])]
    values = [value for _, value in p99s if value]
    if len(values) < 2:
        return
    low, high = math.log(min(values)), math.log(max(values))
    for qps, value in p99s:
        length = 1 + round((_BAR_WIDTH - 1) * (math.log(value) - low) / ((high - low) or 1.0)) if value else 0
        console().print(f"{qps:>12,.0f}  {'█' * length} {microseconds(value)} us")


def _verdict(best: Step | None, steps: Sequence[Step], slo: Slo) -> str:
    if best is None:
        is_late = any(not step.result.lateness["is_on_time"] for step in steps)
        return f"No load meets {slo}" + (", as far as this generator can tell: it was late itself." if is_late else ".")
    (quantile,) = best.result.quantiles([slo.quantile])
    return f"Highest load that meets {slo}: {best.qps:,.0f} requests/s, at {microseconds(quantile.value_us)} us."
