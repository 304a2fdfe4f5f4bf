"""What a study's figures and tables mean, in plain English, from their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import polars as pl

from bayop.analysis.best import defaults
from bayop.analysis.cells import POOL_DOF
from bayop.analysis.conditions import delay_and_frequency
from bayop.analysis.pareto import DRAWS
from bayop.analysis.savings import CONFIDENCE, Reduction, Saving
from bayop.analysis.shapes import v_minima
from bayop.analysis.summary import WorkloadSummary
from bayop.report.study.words import percent, quantity_name, setting_name, system_names, workload_name


def headline(summaries: Sequence[WorkloadSummary]) -> str:
    """The largest saving in one sentence: of tuning a system, and only without any of those of changing it."""
    found = [(saving, summary) for summary in summaries for saving in summary.savings]
    tuned = [pair for pair in found if not _of_other_system(pair[0])]
    if not found:
        return "There is no default to compare with, or nothing meets the SLO."
    saving, summary = max(tuned or found, key=lambda pair: pair[0].reductions[pair[1].trade_off.cost].value)
    cost, system = summary.trade_off.cost, system_names([saving.condition])[0]
    return (
        f"{workload_name(summary.keys)} on {system} at {setting_name(saving.setting)} takes "
        f"{with_interval(saving.reductions[cost])} less {quantity_name(cost)} than the default"
        f"{_of_other_system(saving)}, {saving.under}."
    )


def with_interval(saved: Reduction) -> str:
    """A saving with its confidence interval: `43.3 % (42.4 to 44.1 %)`."""
    if saved.low is None or saved.high is None:
        return percent(saved.value)
    return f"{percent(saved.value)} ({percent(saved.low).removesuffix(' %')} to {percent(saved.high)})"


def about_pareto(summary: WorkloadSummary) -> str:
    """What the front shows."""
    cost = quantity_name(summary.trade_off.cost)
    text = (
        f"Every dot is a setting, the mean of its repeats. No setting is both faster and lower in {cost} than those on "
        f"the line; full dots are on it in at least half of {DRAWS} draws of the noise. The star is the default."
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
    delays = minima["delay_us"].to_list()
    return (
        f"A line for each frequency, its least value as a dot: between {min(delays):g} and {max(delays):g} us. At "
        f"{shaped} of {minima.height} frequencies the minimum lies inside and both ends exceed it by two standard "
        "errors: a V. The dashed line is the default, with its standard error as a band."
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
    return (
        f"A bar is a true reduction, 1 &minus; {cost} / {cost} of the default, with its {100 * CONFIDENCE:.0f} % "
        f"confidence interval, so it can't exceed 100 %.{_borrowed(summary.savings)}"
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
        "degrees of freedom. They cover noise, not the luck of the best of many settings."
    )
    return [
        errors,
        "Best means least cost among the settings whose true mean meets the SLO with probability 0.9.",
        f"Seed of the draws: {seed}. BayOp {version}.",
    ]


def _borrowed(savings: Sequence[Saving]) -> str:
    """Says so where a system is compared with another one's default."""
    others = sorted({system_names([s.condition])[0] for s in savings if _of_other_system(s)})
    return f" {escape(' and '.join(others))} has no default and is compared with the other system's." if others else ""


def _of_other_system(saving: Saving) -> str:
    same = all(saving.condition.get(name) == value for name, value in saving.against.items())
    return "" if same else f" of {system_names([saving.against])[0]}"
