"""The numbers of a summary in the units that people read, JSON-ready: what `bayop interrupts show` prints.

Spacing is how long after the one before an interrupt came; its coefficient of variation says how much a moderation
policy lets the delay wander ([D] Fig. 2, [Q] Fig. 2). Rates and shares are over the time between the first and the last
sample, because that is what the counters cover.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from bayop.errors import InputError
from bayop.interrupts.episodes import SHARES
from bayop.interrupts.histogram import RELATIVE_ERROR, Histogram
from bayop.interrupts.layout import ENERGY_UJ, IDLE_NS, Layout
from bayop.interrupts.summary import TRAFFIC, Summary
from bayop.interrupts.time_bins import MEDIAN_RELATIVE_ERROR

QUANTILES: Final = {
    "p1": 0.01,
    "p5": 0.05,
    "p25": 0.25,
    "p50": 0.5,
    "p75": 0.75,
    "p95": 0.95,
    "p99": 0.99,
    "p999": 0.999,
}


def describe(summary: Summary) -> dict[str, object]:
    """Everything about one log; None where the log has nothing to say, for example without samples."""
    layout = summary.layout
    first, last = summary.ends.times
    return {
        "layout": layout.name,
        "records": summary.records,
        "first_entry": summary.ends.entries[0],
        "span_s": (last - first) / layout.tick_hz,
        "one_record_per_sample": summary.samples == summary.records > 1,
        "empty_interrupts": summary.empty,
        "spacing": spacing(summary.spacing, layout),
        "median_spacing_over_time": _medians(summary),
        "per_interrupt": {name: _traffic(summary.traffic[name]) for name in TRAFFIC},
        "totals": {name: summary.traffic[name].sum for name in TRAFFIC},
        "amounts": {name: {"total": total, "mean": total / summary.records} for name, total in _amounts(summary)},
        "counters": _counters(summary),
        "idle_states": _idle_states(summary),
        "episodes": _episodes(summary),
        "quantile_relative_error": RELATIVE_ERROR,
    }


def describe_all(summaries: Sequence[Summary]) -> dict[str, object]:
    """All logs together: interrupts, spacing and traffic.

    Energy is left out: the energy of a package is in the log of each of its cores.

    Raises:
        InputError: their clocks differ.
    """
    layouts = {s.layout.tick_hz: s.layout for s in summaries}
    if len(layouts) > 1:
        raise InputError("logs that are added up must have clocks that tick alike", value=sorted(layouts))
    (layout,) = layouts.values()
    gaps = pooled([s.spacing for s in summaries])
    traffic = {name: pooled([s.traffic[name] for s in summaries]) for name in TRAFFIC}
    return {
        "logs": len(summaries),
        "records": sum(s.records for s in summaries),
        "empty_interrupts": sum(s.empty for s in summaries),
        "spacing": spacing(gaps, layout),
        "per_interrupt": {name: _traffic(histogram) for name, histogram in traffic.items()},
        "totals": {name: histogram.sum for name, histogram in traffic.items()},
        "quantile_relative_error": RELATIVE_ERROR,
    }


def pooled(histograms: Sequence[Histogram]) -> Histogram:
    """One histogram of what several have counted."""
    whole = Histogram()
    for histogram in histograms:
        whole.merge(histogram)
    return whole


def spacing(gaps: Histogram, layout: Layout) -> Mapping[str, float | None]:
    """The distribution of the spacing in us, with its coefficient of variation and its p99 / p1."""
    us = 1e6 / layout.tick_hz
    low, high = gaps.quantile(0.01), gaps.quantile(0.99)
    return {
        "mean_us": _times(gaps.mean, us),
        "variation": gaps.variation,
        "least_us": _times(gaps.least, us),
        **{f"{name}_us": _times(gaps.quantile(share), us) for name, share in QUANTILES.items()},
        "greatest_us": _times(gaps.greatest, us),
        "p99_to_p1": high / low if high and low else None,
    }


def _medians(summary: Summary) -> Mapping[str, float | None]:
    """Between what the medians of equal stretches of time lie: how far a policy moves the delay while it runs.

    They are good to `MEDIAN_RELATIVE_ERROR`, and lie within what was seen.
    """
    us = 1e6 / summary.layout.tick_hz
    medians = summary.bins.median_spacing()
    finite = np.clip(medians[np.isfinite(medians)], summary.spacing.least, summary.spacing.greatest) * us
    least_us, greatest_us = (float(finite.min()), float(finite.max())) if len(finite) else (None, None)
    return {
        "stretch_ms": 2**summary.bins.exponent * us / 1e3,
        "least_us": least_us,
        "greatest_us": greatest_us,
        "relative_error": MEDIAN_RELATIVE_ERROR,
    }


def _traffic(histogram: Histogram) -> Mapping[str, float | None]:
    return {
        "mean": histogram.mean,
        "p50": histogram.quantile(0.5),
        "p99": histogram.quantile(0.99),
        "greatest": histogram.greatest,
        "share_with_any": 1.0 - int(histogram.counts[0]) / histogram.count,
    }


def _amounts(summary: Summary) -> Iterator[tuple[str, int]]:
    """The further amounts of a log but those that `idle_states` and `counters` tell."""
    told = {ENERGY_UJ, "instructions"}
    amounts = summary.amounts.items()
    return ((name, total) for name, total in amounts if name not in told and not name.startswith(IDLE_NS))


def _counters(summary: Summary) -> Mapping[str, float | int | None]:
    layout = summary.layout
    sampled_s = summary.sampled_ticks / layout.tick_hz
    interrupts_per_s = _share(summary.spacing.count * layout.tick_hz, summary.spacing.sum)
    if not layout.has_counters:
        return {
            "samples": 0, "sampled_s": sampled_s, "interrupts_per_s": interrupts_per_s, **_counted_by_record(summary),
        }  # fmt: skip
    totals = _advanced(summary)
    energy_j = _times(totals["energy_units"], layout.energy_unit_j)
    interrupts = _times(interrupts_per_s, sampled_s)
    counted = {
        "energy_j": energy_j,
        "power_w": _ratio(energy_j, sampled_s),
        **{name: totals[name] for name in ("instructions", "cycles", "ref_cycles", "llc_misses")},
        "utilization": _ratio(_times(totals["ref_cycles"], 1 / layout.tsc_hz), sampled_s),
        "mean_freq_mhz": _ratio(_times(totals["cycles"], layout.tsc_hz / 1e6), totals["ref_cycles"]),
        "instructions_per_cycle": _ratio(totals["instructions"], totals["cycles"]),
        "instructions_per_interrupt": _ratio(totals["instructions"], interrupts),
        "energy_per_interrupt_uj": _ratio(_times(energy_j, 1e6), interrupts),
    }
    return {"samples": summary.samples, "sampled_s": sampled_s, "interrupts_per_s": interrupts_per_s, **counted}


def _advanced(summary: Summary) -> Mapping[str, int | None]:
    """How far each sampled column advanced; None without two samples, between which it could."""
    return {name: total if summary.intervals else None for name, total in summary.totals.items()}


def _counted_by_record(summary: Summary) -> Mapping[str, float | int | None]:
    """The same of counters that every record has, as far as there are any.

    How fast the TSC ticks is not known, so that nothing is said against it.
    """
    first, last = summary.ends.times
    amounts = summary.amounts
    energy_uj, instructions = amounts.get(ENERGY_UJ), amounts.get("instructions")
    energy_j = None if energy_uj is None else energy_uj / 1e6
    return {
        "energy_j": energy_j,
        "power_w": _ratio(energy_j, (last - first) / summary.layout.tick_hz),
        **{name: amounts.get(name) for name in ("instructions", "cycles", "ref_cycles", "llc_misses")},
        "utilization": None,
        "mean_freq_mhz": None,
        "instructions_per_cycle": _ratio(instructions, amounts.get("cycles")),
        "instructions_per_interrupt": _ratio(instructions, summary.records),
        "energy_per_interrupt_uj": _ratio(energy_uj, summary.records),
    }


def _idle_states(summary: Summary) -> Mapping[str, Mapping[str, float | int | None]]:
    """Share of time, residency or entries by state.

    The driver's author says of the residency counters that they seem unreliable.
    """
    layout = summary.layout
    sampled_s = summary.sampled_ticks / layout.tick_hz
    if not layout.has_counters:
        first, last = summary.ends.times
        idle = {name.removeprefix(IDLE_NS): ns for name, ns in summary.amounts.items() if name.startswith(IDLE_NS)}
        return {state: {"share": _share(ns * layout.tick_hz / 1e9, last - first)} for state, ns in idle.items()}
    totals = _advanced(summary)
    if layout.idle_meaning == "residency":
        return {
            state: {"residency": _ratio(_times(totals[state], 1 / layout.tsc_hz), sampled_s)}
            for state in layout.idle_states
        }
    return {
        state: {"entries": totals[state], "entries_per_s": _ratio(totals[state], sampled_s)}
        for state in layout.idle_states
    }


def _episodes(summary: Summary) -> Mapping[str, object]:
    tick_hz = summary.layout.tick_hz
    numbers: dict[str, object] = {}
    for name, busy in (("busy", True), ("idle", False)):
        every = summary.episodes.all(busy=busy)
        numbers[name] = {
            "count": every.count if summary.intervals else None,
            "share": _share(every.ticks, summary.sampled_ticks),
            "mean_ms": _share(every.ticks * 1e3, every.count * tick_hz),
            "longest_ms": every.longest_ticks * 1e3 / tick_hz if summary.intervals else None,
        }
    return numbers | {"intervals_by_busy_share": summary.episodes.shares.tolist(), "busy_share_step": 1 / SHARES}


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _ratio(part: float | None, whole: float | None) -> float | None:
    return None if part is None or whole is None else _share(part, whole)


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
