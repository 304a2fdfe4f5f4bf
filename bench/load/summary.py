"""The rows as tables for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from bench.load.experiments import Accuracy, Arrival, Peak, Stalled


def peaks_of(peaks: Sequence[Peak]) -> dict[str, float]:
    """The median peak of each generator's rounds, without those that chose its shape."""
    names = dict.fromkeys(p.generator for p in peaks)
    return {
        name: median(p.qps for p in peaks if p.generator == name and p.round > 0 and not p.blocking) for name in names
    }


def summary(
    peaks: Sequence[Peak], accuracy: Sequence[Accuracy], stalled: Sequence[Stalled], arrivals: Sequence[Arrival]
) -> str:
    """All tables: medians of the rounds, in brackets the least and the greatest."""
    return "\n".join([*_peak(peaks), *_accuracy(accuracy), *_stalled(stalled), *_arrivals(arrivals)])


def _peak(peaks: Sequence[Peak]) -> Iterable[str]:
    yield "| generator | connections x depth | peak | bayop's is | a core's capacity | bayop's is |"
    yield "|---|---|---:|---:|---:|---:|"
    polling = [p for p in peaks if p.round > 0 and not p.blocking]
    blocking = [p for p in peaks if p.round > 0 and p.blocking]
    peak = {p.round: p.qps for p in polling if p.generator == "bayop"}
    capacity = {p.round: p.capacity_qps for p in blocking if p.generator == "bayop"}
    for name in dict.fromkeys(p.generator for p in peaks):
        at_peak = [p for p in polling if p.generator == name]
        at_rest = [p for p in blocking if p.generator == name]
        yield (
            f"| {name} | {at_peak[0].shape} | {median(p.qps for p in at_peak):,.0f}/s "
            f"| {_spread([peak[p.round] / p.qps for p in at_peak], 2)} x "
            f"| {median(p.capacity_qps for p in at_rest):,.0f}/s "
            f"| {_spread([capacity[p.round] / p.capacity_qps for p in at_rest], 2)} x |"
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
