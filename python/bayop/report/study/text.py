"""What a study's figures and tables mean, in plain English, from their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

import polars as pl

from bayop.analysis.best import TRUST, defaults
from bayop.analysis.cells import POOL_DOF
from bayop.analysis.conditions import delay_and_frequency
from bayop.analysis.pareto import DRAWS
from bayop.analysis.savings import Reduction, Saving, setting_of
from bayop.analysis.shapes import v_minima
from bayop.analysis.summary import WorkloadSummary
from bayop.report.study.words import amount, percent, quantity_name, setting_name, system_name, workload_name
from bayop.saving import CONFIDENCE

NO_DEFAULT: Final = "no default"
NOISE_UNKNOWN: Final = "noise unknown"
"""In tables, where there is nothing to compare with, or no repeat."""


def headline(summaries: Sequence[WorkloadSummary]) -> str:
    """The largest saving in one sentence: of tuning a system, and only without any of those of changing it.

    Without a saving, the first workload's best setting, or that there is none.
    """
    found = [(saving, summary) for summary in summaries for saving in summary.savings]
    tuned = [pair for pair in found if not _is_borrowed(pair[0])]
    if not found:
        return next((_best(summary) for summary in summaries if summary.best_alone), "No setting meets the SLO.")
    saving, summary = max(tuned or found, key=lambda pair: pair[0].reductions[pair[1].trade_off.cost].value)
    cost, system = summary.trade_off.cost, system_name(saving.condition, summary.conditions)
    of_other = f" of {system_name(saving.against, summary.conditions)}" if _is_borrowed(saving) else ""
    return (
        f"{workload_name(summary.keys)} on {system} at {setting_name(saving.setting)} takes "
        f"{with_interval(saving.reductions[cost])} less {quantity_name(cost)} than the default{of_other}, "
        f"{saving.under}."
    )


def _best(summary: WorkloadSummary) -> str:
    """The cheapest setting that has no default to compare with."""
    cost = summary.trade_off.cost
    row = min(summary.best_alone, key=lambda row: row[cost])
    return (
        f"{workload_name(summary.keys)} on {system_name(row, summary.conditions)} takes the least "
        f"{quantity_name(cost)}, {amount(row, cost)}, at {setting_name(setting_of(row))}, {summary.bound}. "
        "There is no default to compare with."
    )


def with_interval(saved: Reduction) -> str:
    """A saving with its confidence interval: `43.3 % (42.4 to 44.1 %)`."""
    if saved.low is None or saved.high is None:
        return percent(saved.value)
    return f"{percent(saved.value)} ({percent(saved.low).removesuffix(' %')} to {percent(saved.high)})"


def certainty(reductions: Sequence[Reduction]) -> str:
    """How sure some savings are, behind what they are: with confidence intervals, or without."""
    known = {saved.low is not None for saved in reductions}
    if True not in known:
        return "; without repeats there are no confidence intervals"
    where = " where there are repeats" if False in known else ""
    return f", with {100 * CONFIDENCE:.0f} % confidence intervals{where}"


def about_pareto(summary: WorkloadSummary) -> str:
    """What the front shows."""
    cost = quantity_name(summary.trade_off.cost)
    sure = f"full dots are on it in at least half of {DRAWS} draws of the noise"
    if summary.front["on_front"].is_null().all():
        sure = "without repeats, how sure it is stays unknown"
    text = (
        f"Every dot is a setting, the mean of its repeats. No setting is both faster and lower in {cost} than those on "
        f"the line; {sure}. The star is the default."
    )
    if summary.slo is not None:
        text += f" Left of the dashed line {escape(str(summary.slo))} is met; a diamond is the best setting that does."
    return text


def about_map(summary: WorkloadSummary, cells: pl.DataFrame) -> str:
    """How to read the maps of one condition."""
    latency, cost = (quantity_name(q) for q in summary.trade_off.quantities)
    text = (
        f"A square is a setting: the upper map shows the {latency}, the lower one the {cost}; darker is more. The "
        "stars on the scales are the default."
    )
    if summary.slo is not None:
        text += f" Crosses miss {escape(str(summary.slo))}; the frame is the best setting that meets it."
    others = cells.height - delay_and_frequency(cells).height - defaults(cells).height
    return text + (f" {others} settings that use other knobs too are not shown." if others else "")


def about_v_shape(cells: pl.DataFrame, quantity: str) -> str:
    """How many frequencies show a V."""
    minima = v_minima(cells, quantity)
    if minima.is_empty():
        return "A line for each frequency; the dashed line is the default."
    shaped = int(minima["v"].sum())
    low, high = min(minima["delay_us"]), max(minima["delay_us"])
    count = f"{shaped} of {minima.height} {'frequency' if minima.height == 1 else 'frequencies'}"
    sure = f"At {count} the minimum lies inside and both ends exceed it by two standard errors: a V."
    if minima["v"].null_count():
        sure = "Without repeats it is unknown whether more than noise makes a V."
    return (
        f"A line for each frequency, its least value as a dot: {f'between {low:g} and' if low < high else 'at'} "
        f"{high:g} us. {sure} The dashed line is the default, with its standard error as a band."
    )


def about_l_shape(summary: WorkloadSummary) -> str:
    """How to read an L."""
    latency, cost = (quantity_name(q) for q in summary.trade_off.quantities)
    return (
        f"Dots are settings, coloured by frequency. From the right, {cost} falls steeply for little {latency}; beyond "
        "the corner (circle) it is the other way round. The corner is the point of the front that lies farthest below "
        "the line between its ends. The star is the default."
    )


def about_per_request() -> str:
    """How to read the panels."""
    return (
        "Lines are medians over the frequencies, bands their whole range, dashed lines the default. A longer delay "
        "batches more work into an interrupt."
    )


def about_idle(*, entries: bool) -> str:
    """How to read the idle states."""
    what = "Entries into idle states a second, all cores together" if entries else "Share of time in idle states"
    return f"{what}: medians over the frequencies; dashed lines are the default."


def about_distributions() -> str:
    """How to read the curves."""
    return (
        "Quantile curves of the default and of each system's best setting under the SLO. The axis counts nines, so "
        "that the tail is as wide as the body; a curve has to pass left of the cross."
    )


def about_savings(summary: WorkloadSummary) -> str:
    """What a bar is."""
    cost = quantity_name(summary.trade_off.cost)
    sure = certainty([saving.reductions[summary.trade_off.cost] for saving in summary.savings])
    return (
        f"Bars are true reductions, 1 &minus; {cost} / {cost} of the default{sure}. None can exceed 100 %."
        f"{_borrowed(summary)}"
    )


def about_knobs() -> str:
    """What one knob alone is compared with."""
    return (
        "One knob is tuned while the other is fixed: the frequency at its highest, or the ITR-delay at its shortest. "
        "Below zero, that is worse than the default, which tunes both in its own way."
    )


def about_method(seed: int, version: str) -> list[str]:
    """How the numbers came about, a paragraph each."""
    errors = (
        "A setting's number is the mean of its repeats. Its standard error comes from them and from its neighbours': "
        "the relative variance of a condition's repeats is pooled, and the pool counts as much as "
        f"{POOL_DOF:.0f} more repeats of the setting would (a moderated variance, Smyth 2004); a default with three "
        "repeats or more counts alone. Intervals are by the delta method on the logarithm of the ratio, with Welch's "
        "degrees of freedom. They cover noise, not the luck of the best of many settings. Without repeats no error is "
        "claimed."
    )
    best = (
        f"Best means least cost among the settings whose true mean meets the SLO with probability {TRUST:g}; without "
        "repeats, among those whose mean does."
    )
    return [
        errors,
        best,
        f"Seed of the draws: {seed}. BayOp {version}.",
    ]


def _borrowed(summary: WorkloadSummary) -> str:
    """Says so where a system is compared with another one's default."""
    others = sorted({system_name(s.condition, summary.conditions) for s in summary.savings if _is_borrowed(s)})
    return f" {escape(' and '.join(others))} has no default and is compared with the other system's." if others else ""


def _is_borrowed(saving: Saving) -> bool:
    """Whether the default is another system's."""
    return any(saving.condition.get(name) != value for name, value in saving.against.items())
