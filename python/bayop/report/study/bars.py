"""Savings as bars with their confidence intervals: true reductions against the default, which is the zero line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayop.analysis.one_knob import BOTH, DELAY_ONLY, FREQUENCY_ONLY
from bayop.analysis.savings import Reduction, Saving
from bayop.report.study.style import DEFAULT_MARKER, single, system_colours
from bayop.report.study.words import percent, quantity_name, setting_name, system_name
from bayop.report.style import INK, bayop_style

_KNOB_LABELS: Final = {DELAY_ONLY: "ITR-delay only", FREQUENCY_ONLY: "frequency only", BOTH: "both knobs"}
_LETTER_WIDTH: Final = 0.0165
"""Of the texts beside the bars, as a share of the axes' width."""


@bayop_style()
def draw_savings(
    savings: Sequence[Saving], quantity: str, *, among: Sequence[Mapping[str, Any]] | None = None
) -> Figure:
    """What the best setting of each system saves under each bound.

    Args:
        savings: Of one workload.
        quantity: Of which the saving is.
        among: The conditions of the workload, which systems are told from; those of the savings when omitted.
    """
    return _draw([(saving.under, saving) for saving in savings], quantity, among)


@bayop_style()
def draw_one_knob(
    compared: Mapping[str, Sequence[Saving]], quantity: str, *, among: Sequence[Mapping[str, Any]] | None = None
) -> Figure:
    """What one knob alone saves beside what both save, as `bayop.analysis.one_knob.compare_knobs` gives it."""
    rows = [(_KNOB_LABELS[tuned], saving) for tuned, savings in compared.items() for saving in savings]
    return _draw(rows, quantity, among)


def _draw(rows: Sequence[tuple[str, Saving]], quantity: str, among: Sequence[Mapping[str, Any]] | None) -> Figure:
    conditions = _distinct([saving.condition for _, saving in rows])
    names = [system_name(condition, among or conditions) for condition in conditions]
    colours = system_colours(names)
    figure, axes = single((5.4, 0.75 + 0.36 * len(rows) + 0.3 * len(conditions)))
    texts = [f"{percent(s.reductions[quantity].value)}: {setting_name(s.setting)}" for _, s in rows]
    y, ticks = 0.0, []
    for condition, name in zip(conditions, names, strict=True):
        axes.annotate(
            name, (0.0, y - 0.15), xytext=(4, 0), textcoords="offset points",  # right of the zero line
            color=INK, fontweight="bold", va="center", fontsize=8.5,
        )  # fmt: skip
        y += 0.75
        for label, saving in rows:
            if saving.condition == condition:
                _draw_bar(axes, y, saving.reductions[quantity], setting_name(saving.setting), colours[name])
                ticks.append((y, label))
                y += 1.0
    axes.set_yticks([at for at, _ in ticks], [label.replace(" than ", " than\n") for _, label in ticks])
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.set_ylim(y - 0.3, -0.6)
    _limits(axes, [saving.reductions[quantity] for _, saving in rows], longest=max(map(len, [*texts, *names])))
    axes.axvline(0.0, color=INK, linewidth=1.0)
    axes.plot(0.0, 1.0, DEFAULT_MARKER, transform=axes.get_xaxis_transform(), markersize=11, color="white",
              markeredgecolor=INK, clip_on=False, zorder=6)  # fmt: skip
    axes.annotate(
        "default", (0.0, 1.0), xycoords=("data", "axes fraction"), xytext=(8, 2), textcoords="offset points",
        fontsize=8, color=INK,
    )  # fmt: skip
    decimals = _decimals([100 * tick for tick in axes.get_xticks()])
    axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.{decimals}f}".replace("-", "\N{MINUS SIGN}"))
    axes.set_xlabel(f"reduction in {quantity_name(quantity)} against the default (%)")
    return figure


def _draw_bar(axes: Axes, y: float, saved: Reduction, text: str, colour: str) -> None:
    axes.barh(y, saved.value, height=0.66, color=colour, linewidth=0, alpha=0.85)
    if saved.low is not None and saved.high is not None:
        axes.plot([saved.low, saved.high], [y, y], color=INK, linewidth=1.1, marker="|", markersize=5)
    end = max(saved.value, saved.high or 0.0, 0.0)
    axes.annotate(
        f"{percent(saved.value)}: {text}", (end, y), xytext=(6, 0), textcoords="offset points", va="center",
        fontsize=7.5, color=INK,
    )  # fmt: skip


def _limits(axes: Axes, shares: Sequence[Reduction], *, longest: int) -> None:
    """Room on the right of the bars for the longest text, in letters."""
    low = min(0.0, *(s.value if s.low is None else s.low for s in shares))
    high = max(0.0, *(s.value if s.high is None else s.high for s in shares))
    span = max(high - low, 0.02)
    text = min(0.7, _LETTER_WIDTH * (longest + 2))
    axes.set_xlim(low - 0.03 * span, high + span * text / (1.0 - text))
    axes.set_xticks([t for t in axes.get_xticks() if low - 0.03 * span <= t <= high + 0.03 * span])


def _decimals(ticks: Sequence[float]) -> int:
    """How many decimals tell evenly spaced ticks from each other."""
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    return len(f"{step:.4g}".partition(".")[2])


def _distinct(conditions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for condition in conditions:
        if condition not in found:
            found.append(condition)
    return found
