"""What people see of `bayop load`: tables, and a plot of the latency distribution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Literal

from bayop.cli.terminal.output import console, new_table

if TYPE_CHECKING:
    from rich.table import Table

    from bayop.load.generator import Part, Quantile, Result
    from bayop.load.plan import Plan

_STATUSES: Final[dict[Literal["status_2xx", "status_3xx", "status_4xx", "status_5xx"], str]] = {
    "status_2xx": "2xx", "status_3xx": "3xx", "status_4xx": "4xx", "status_5xx": "5xx",
}  # fmt: skip
_OF_EACH: Final = (0.5, 0.9, 0.99, 0.999)
"""The quantiles that are shown of each request of a mix."""

_PLOT_ROWS: Final = 12
_PLOT_WIDTH: Final = 50


def show_result(plan: Plan, result: Result) -> None:
    """The result of one run."""
    from bayop.load.peers import Coordinated

    out = console()
    out.print(f"\n[bold]{plan.dialect}[/bold] at {', '.join(plan.servers)}: {_load(result)}")
    out.print(_latency_table(result))
    if parts := result.mix(_OF_EACH):
        out.print(_mix_table(parts))
    for line in _distribution(result.report.histogram()):
        out.print(line)
    out.print()
    for line in _account(result):
        out.print(line)
    if isinstance(result, Coordinated):
        out.print("\nThe above is the measuring client; all clients together:")
        out.print(_latency_table(result.everything))
        for line in _account(result.everything):
            out.print(line)
    for problem in result.problems:
        out.print(f"[bold red]no good:[/bold red] {problem}")
    for trouble, count in result.troubles.items():
        out.print(f"  {count:,} x {trouble}", markup=False)


def microseconds(value: float | None) -> str:
    """A latency with three significant digits; a dash where there is none."""
    return "-" if value is None else f"{float(f'{value:.3g}'):,.10g}"


def interval(quantile: Quantile) -> str:
    """The 95 % confidence interval of a quantile."""
    return f"{microseconds(quantile.low_us)} .. {microseconds(quantile.high_us)}"


def _load(result: Result) -> str:
    rate = f"{result.achieved_qps:,.0f} requests/s answered"
    over = f"over {result.duration_s:.3g} s"
    if result.offered_qps is None:
        return f"{rate} {over}"
    return f"{rate} of {result.offered_qps:,.0f} offered, {over}"


def _latency_table(result: Result) -> Table:
    table = new_table("latency from the intended send time, in us; the mean is " + microseconds(result.report.mean_us))
    for column in ("quantile", "latency", "95 % interval"):
        table.add_column(column, justify="right")
    for quantile in result.quantiles():
        failed = quantile.value_us is None and result.counts["intended"]
        value = "failed" if failed else microseconds(quantile.value_us)
        table.add_row(f"p{quantile.quantile * 100:.10g}", value, interval(quantile))
    return table


def _mix_table(parts: list[Part]) -> Table:
    table = new_table("latency of each request that was sent, in us")
    table.add_column("request", overflow="fold")
    for column in ("sent", "failed", *(f"p{share * 100:.10g}" for share in _OF_EACH)):
        table.add_column(column, justify="right")
    for part in parts:
        latency = (_of_part(part, share) for share in _OF_EACH)
        table.add_row(part.name, f"{part.requests:,}", f"{part.failed:,}", *latency)
    return table


def _of_part(part: Part, share: float) -> str:
    """A quantile; a dash where there is no request beyond it."""
    if part.requests * (1.0 - share) < 1.0:
        return "-"
    value_us = part.latency_us[share]
    return "failed" if value_us is None else microseconds(value_us)


def _distribution(histogram: list[tuple[float, int]]) -> list[str]:
    """Bars of equal width on a logarithmic axis."""
    values = [(math.log(max(value_us, 1e-3)), count) for value_us, count in histogram]
    if not values:
        return []
    low, high = values[0][0], values[-1][0]
    width = (high - low) / _PLOT_ROWS or 1.0
    counts = [0] * _PLOT_ROWS
    for value, count in values:
        counts[min(int((value - low) / width), _PLOT_ROWS - 1)] += count
    rows = [row for row in range(_PLOT_ROWS) if high > low or row == 0]
    return [
        f"{microseconds(math.exp(low + row * width)):>9} us {'█' * math.ceil(_PLOT_WIDTH * counts[row] / max(counts))}"
        f" {counts[row]:,}"
        for row in rows
    ]


def _account(result: Result) -> list[str]:
    counts, late, seconds = result.counts, result.lateness, result.duration_s
    if not seconds:
        return ["nothing was measured"]
    sent, received = _bytes(counts["bytes_sent"] / seconds), _bytes(counts["bytes_received"] / seconds)
    p50, p99, worst = (microseconds(late[name]) for name in ("p50_us", "p99_us", "max_us"))
    answered = f"{counts['answered']:,} of {counts['intended']:,} requests answered"
    lines = [
        f"{answered}; sent {sent}/s, received {received}/s",
        f"generator's lateness: p50 {p50} us, p99 {p99} us, worst {worst} us",
    ]
    if result.miss_ratio:
        lines.append(f"misses: {result.miss_ratio:.2%} of {counts['gets']:,} reads")
    statuses = [f"{counts[name]:,} x {label}" for name, label in _STATUSES.items() if counts[name]]
    if statuses:
        lines.append(f"answers by status: {', '.join(statuses)}")
    if unstamped := counts["answered"] - counts["timestamped"]:
        lines.append(f"{unstamped:,} answers bear no time of the kernel's: they count as come when they were read")
    if counts["queued"]:
        lines.append(f"{counts['queued']:,} requests waited for room or for a connection")
    if counts["reconnects"]:
        lines.append(f"{counts['reconnects']:,} connections were opened anew")
    if result.report.ended_early:
        lines.append("ended early: the interval is narrow enough")
    return lines


def _bytes(number: float) -> str:
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} GB"
