"""A study's report: one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final

import polars as pl

from bayop.analysis.cells import STANDARD_ERROR
from bayop.analysis.conditions import by_condition
from bayop.analysis.savings import setting_of
from bayop.analysis.summary import WorkloadSummary, left_out
from bayop.report.document import document, row, section, table, tiles
from bayop.report.study import text
from bayop.report.study.words import (
    amount,
    app_name,
    percent,
    quantity_name,
    setting_name,
    system_name,
    system_names,
    workload_name,
)
from bayop.report.svg import Drawing

_ORIGIN: Final = ("study", "target", "machine", "machine_fingerprint", "os", "app", "vantage", "bayop_version")
_MOST_FRONT_ROWS: Final = 200


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a report's trials come from.

    Attributes:
        origins: A row for each campaign, machine and so on, with `trials`, and the range of `seed` and `started_at`.
        left_out: How many trials are not trusted, by the reason.
        seed: Of the report's own draws.
        version: BayOp's.
    """

    origins: pl.DataFrame
    left_out: Mapping[str, int]
    seed: int
    version: str

    @classmethod
    def of(cls, study: pl.DataFrame, *, seed: int, version: str) -> Provenance:
        """The provenance of a study."""
        keys = [name for name in _ORIGIN if name in study.columns]
        ranges = [e for n in ("seed", "started_at") if n in study.columns for e in _range(n)]
        origins = study.group_by(keys).agg(pl.len().alias("trials"), *ranges).sort(keys)
        return cls(origins, left_out(study), seed, version)


def _range(name: str) -> list[pl.Expr]:
    return [pl.col(name).min().alias(f"first {name}"), pl.col(name).max().alias(f"last {name}")]


def render_page(
    summaries: Sequence[WorkloadSummary],
    figures: Sequence[Sequence[Drawing]],
    svgs: Mapping[str, str],
    provenance: Provenance,
) -> str:
    """The whole page.

    Args:
        summaries: What is said, by workload.
        figures: The figures of every workload.
        svgs: The SVG document of every figure, by its name.
        provenance: Where the trials come from.
    """
    title = "; ".join(dict.fromkeys(app_name(s.keys) for s in summaries))
    title = f"A study of {title}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="lead">{escape(text.headline(summaries))}</p>',
        tiles(_numbers(summaries)),
        "<h2>Savings</h2>",
        _savings(summaries),
    ]
    for summary, drawings in zip(summaries, figures, strict=True):
        parts += [section(drawing, svgs[drawing.name]) for drawing in drawings]
        parts.append(_front(summary))
    parts += ["<h2>Where the trials come from</h2>", _origins(provenance.origins), _left_out(provenance.left_out)]
    parts += ["<footer>", *(f"<p>{p}</p>" for p in text.about_method(provenance.seed, provenance.version)), "</footer>"]
    return document(title, parts)


_SAVING_HEAD: Final = ("", "saving", "system", "under", "setting", "cost", "default", "latency", "rivals")


def _numbers(summaries: Sequence[WorkloadSummary]) -> list[tuple[str, str]]:
    """The last bound's savings: under the SLO, or at any speed."""
    numbers = []
    for summary in summaries:
        cost, workload = summary.trade_off.cost, workload_name(summary.keys)
        for saving in summary.savings:
            if saving.under == summary.savings[-1].under:
                system = system_name(saving.condition, summary.conditions)
                what = f"less {quantity_name(cost)}, {workload}, {system}, {saving.under}"
                numbers.append((percent(saving.reductions[cost].value), what))
    return numbers


def _savings(summaries: Sequence[WorkloadSummary]) -> str:
    """The best settings with what they save, and those that have no default to compare with."""
    rows, reductions = [], []
    for summary in summaries:
        cost = summary.trade_off.cost
        for saving in summary.savings:
            reductions.append(saving.reductions[cost])
            saved = text.with_interval(reductions[-1])
            rows.append(_best_cells(summary, saving.cell, saved, saving.under, amount(saving.default, cost)))
        rows += [_best_cells(summary, row, text.NO_DEFAULT, summary.bound, "") for row in summary.best_alone]
    caption = (
        f"True reductions against the default{text.certainty(reductions)}. Rivals are settings under the same bound "
        "whose cost could be as low."
    )
    return _table(_SAVING_HEAD, rows, caption)


def _best_cells(summary: WorkloadSummary, row: Mapping[str, Any], saved: str, under: str, default: str) -> list[str]:
    latency, cost = summary.trade_off.quantities
    return [
        workload_name(summary.keys),
        saved,
        system_name(row, summary.conditions),
        under,
        setting_name(setting_of(row)),
        amount(row, cost),
        default,
        f"{row[latency]:.4g} us",
        text.NOISE_UNKNOWN if row["rivals"] is None else str(row["rivals"]),
    ]


def _front(summary: WorkloadSummary) -> str:
    """The settings of the front, folded."""
    latency, cost = summary.trade_off.quantities
    head = ("system", "setting", "repeats", f"{quantity_name(latency)} us", quantity_name(cost), "on the front")
    parts = list(by_condition(summary.front.filter(pl.col("front") | (pl.col("on_front") >= 0.05))))
    names = system_names([part.keys for part in parts])
    rows = [
        [
            name,
            setting_name(setting_of(row)),
            str(row["repeats"]),
            _with_error(row, latency),
            _with_error(row, cost),
            text.NOISE_UNKNOWN if row["on_front"] is None else percent(row["on_front"]),
        ]
        for part, name in zip(parts, names, strict=True)
        for row in part.rows.head(_MOST_FRONT_ROWS).iter_rows(named=True)
    ]
    title = f"The front in numbers: {workload_name(summary.keys)}"
    caption = (
        "Means with their standard errors, and the share of draws of the noise in which a setting is on the front."
    )
    return f"<details><summary>{escape(title)}</summary>\n{_table(head, rows, caption)}</details>"


def _with_error(row: Mapping[str, Any], quantity: str) -> str:
    error = row[STANDARD_ERROR + quantity]
    return f"{row[quantity]:.4g}" + ("" if error is None else f" ± {error:.2g}")


def _origins(origins: pl.DataFrame) -> str:
    told = [name for name in origins.columns if origins[name].null_count() < origins.height]
    rows = [["" if value is None else str(value) for value in row] for row in origins.select(told).iter_rows()]
    return _table([name.replace("_", " ") for name in told], rows, None)


def _left_out(reasons: Mapping[str, int]) -> str:
    if not reasons:
        return "<p>Every trial counts.</p>"
    listed = "; ".join(f"{count} {reason}" for reason, count in reasons.items())
    return f"<p>Trials left out: {escape(listed)}.</p>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str | None) -> str:
    return table(head, [row(first, cells) for first, *cells in rows], caption, wraps=True)
