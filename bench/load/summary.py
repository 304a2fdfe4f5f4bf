"""The rows as tables for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from bench.load.experiments import Accuracy, Arrival, Peak, Stalled


def peaks_of(peaks: Sequence[Peak], setup: str) -> dict[str, float]:
    """The median peak of each generator's rounds, without those that chose its shape."""
    of_setup = [p for p in peaks if p.setup == setup]
    names = dict.fromkeys(p.generator for p in of_setup)
    return {name: median(p.qps for p in of_setup if p.generator == name and p.round > 0) for name in names}


def summary(
    peaks: Sequence[Peak], accuracy: Sequence[Accuracy], stalled: Sequence[Stalled], arrivals: Sequence[Arrival]
) -> str:
    """All tables: medians of the rounds, in brackets the least and the greatest."""
    return "\n".join([*_peak(peaks), *_accuracy(accuracy), *_stalled(stalled), *_arrivals(arrivals)])


def _peak(peaks: Sequence[Peak]) -> Iterable[str]:
    yield "| memcached | generator | connections x depth | peak | bayop's is | it reports, of the server's count |"
    yield "|---|---|---|---:|---:|---:|"
    rounds = [p for p in peaks if p.round > 0]
    own = {(p.setup, p.round): p.qps for p in rounds if p.generator == "bayop"}
    for setup, name in dict.fromkeys((p.setup, p.generator) for p in rounds):
        runs = [p for p in rounds if (p.setup, p.generator) == (setup, name)]
        yield (
            f"| {setup} | {name} | {runs[0].shape} | {median(p.qps for p in runs):,.0f}/s "
            f"| {_spread([own[setup, p.round] / p.qps for p in runs], 2)} x "
            f"| {_spread([p.reported_qps / p.qps for p in runs], 2)} |"
        )
    yield ""


def _accuracy(rows: Sequence[Accuracy]) -> Iterable[str]:
    yield "| at half of its peak | offered | answered | reported p99 | on the wire | from the due time | off |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for name in dict.fromkeys(row.generator for row in rows):
        runs = [row for row in rows if row.generator == name]
        due_us = [row.due_us for row in runs if row.due_us is not None]
        yield (
            f"| {name} | {median(r.offered_qps for r in runs):,.0f}/s | {median(r.achieved_qps for r in runs):,.0f}/s "
            f"| {median(r.reported_us for r in runs):,.0f} us | {median(r.wire_us for r in runs):,.0f} us "
            f"| {f'{median(due_us):,.0f} us' if due_us else 'not told'} | {_percent([r.off for r in runs])} |"
        )
    yield ""


def _stalled(rows: Sequence[Stalled]) -> Iterable[str]:
    yield "| server stops 50 ms every second | offered | answered | reported p99 | analytic | off |"
    yield "|---|---:|---:|---:|---:|---:|"
    for name in dict.fromkeys(row.generator for row in rows):
        runs = [row for row in rows if row.generator == name]
        yield (
            f"| {name} | {median(r.offered_qps for r in runs):,.0f}/s | {median(r.achieved_qps for r in runs):,.0f}/s "
            f"| {median(r.reported_us for r in runs) / 1e3:.2f} ms "
            f"| {median(r.analytic_us for r in runs) / 1e3:.2f} ms "
            f"| {_percent([r.off for r in runs])} |"
        )
    yield ""


def _arrivals(rows: Sequence[Arrival]) -> Iterable[str]:
    yield "| bayop's arrivals | KS: gaps, intended | times, sent | gaps, sent | sent together | late, median |"
    yield "|---|---:|---:|---:|---:|---:|"
    for qps in sorted({row.offered_qps for row in rows}):
        runs = [row for row in rows if row.offered_qps == qps]
        distances = ([r.intended_gaps for r in runs], [r.sent_times for r in runs], [r.sent_gaps for r in runs])
        yield (
            f"| {qps:,.0f}/s | {' | '.join(_spread(each, 4) for each in distances)} "
            f"| {100 * median(r.together for r in runs):.0f} % | {_spread([r.lateness_p50_us for r in runs], 1)} us |"
        )
    yield ""


def _spread(values: Sequence[float], digits: int) -> str:
    return f"{median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def _percent(values: Sequence[float]) -> str:
    low, middle, high = (f"{100 * f(values):+.1f}" for f in (min, median, max))
    return f"{middle} % ({low} to {high})"
