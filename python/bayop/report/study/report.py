"""Everything that a study is shown in: figures as SVG and PNG, and the HTML report."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import polars as pl

from bayop.analysis.best import defaults
from bayop.analysis.conditions import Part, by_condition
from bayop.analysis.summary import WorkloadSummary
from bayop.errors import unwritable
from bayop.files import make_folder
from bayop.report import REPORT
from bayop.report.study import text
from bayop.report.study.bars import draw_one_knob, draw_savings
from bayop.report.study.lines import (
    draw_distributions,
    draw_idle,
    draw_per_request,
    has_distribution,
    idle_quantities,
    per_request_quantities,
)
from bayop.report.study.maps import draw_maps, has_map
from bayop.report.study.page import Provenance, render_page
from bayop.report.study.pareto import draw_pareto
from bayop.report.study.shapes import draw_l_shape, draw_v_shape, has_v_shape
from bayop.report.study.words import quantity_name, system_names, workload_name
from bayop.report.svg import Drawing, save


def write_report(
    summaries: Sequence[WorkloadSummary],
    provenance: Provenance,
    folder: Path,
    on_workload: Callable[[], None] = lambda: None,
) -> Path:
    """Writes the report and its figures into a folder, which is made when it is missing.

    Args:
        summaries: What is said, by workload.
        provenance: Where the trials come from.
        folder: Where the files go.
        on_workload: Called when the figures of one are done.

    Returns:
        The HTML file.

    Raises:
        InputError: the folder can't be written.
    """
    make_folder(folder)
    try:
        figures, svgs = [], {}
        for summary in summaries:
            drawings = []
            for drawing in draw_workload(summary):
                svgs[drawing.name] = save(drawing, folder)
                drawings.append(drawing)
            figures.append(drawings)
            on_workload()
        page = folder / REPORT
        page.write_text(render_page(summaries, figures, svgs, provenance), encoding="utf-8")
    except OSError as error:
        raise unwritable(folder, error) from error
    return page


def draw_workload(summary: WorkloadSummary) -> Iterator[Drawing]:
    """The figures that a workload's columns allow, in order."""
    workload, cost = workload_name(summary.keys), summary.trade_off.cost
    slug = _slug(workload)
    slo = None if summary.slo is None else (str(summary.slo), summary.slo.limit_us)
    latency = quantity_name(summary.trade_off.latency)
    sure = text.certainty([saving.reductions[cost] for saving in summary.savings])
    yield Drawing(
        f"{slug}-pareto",
        f"{_upper(latency)} against {quantity_name(cost)}: {workload}",
        f"Settings as dots of {latency} and {quantity_name(cost)}, a colour a system, and their fronts as lines.",
        text.about_pareto(summary),
        draw_pareto(summary.cells, summary.trade_off, likely=summary.front, slo=slo),
    )
    if summary.savings:
        yield Drawing(
            f"{slug}-savings",
            f"What the best settings save: {workload}",
            f"Bars of the reduction in {quantity_name(cost)} against the default{sure}.",
            text.about_savings(summary),
            draw_savings(summary.savings, cost, among=summary.conditions),
        )
    if any(summary.knobs.values()):
        yield Drawing(
            f"{slug}-knobs",
            f"One knob and both: {workload}",
            f"Bars of the reduction in {quantity_name(cost)} with one knob tuned, the other, and both.",
            text.about_knobs(),
            draw_one_knob(summary.knobs, cost, among=summary.conditions),
        )
    parts = list(by_condition(summary.cells))
    for part, system in zip(parts, system_names([part.keys for part in parts]), strict=True):
        yield from _draw_system(summary, part, f"{workload}, {system}")
    if per_request_quantities(summary.cells):
        yield Drawing(
            f"{slug}-request",
            f"What a request costs: {workload}",
            "Energy, instructions, cycles and interrupts per request over ITR-delay, a colour for each system.",
            text.about_per_request(),
            draw_per_request(summary.cells),
        )
    if summary.slo is not None and has_distribution(summary.cells):
        chosen = pl.concat([defaults(summary.cells), summary.best.select(summary.cells.columns)]).unique(
            maintain_order=True
        )
        if not chosen.is_empty():
            yield Drawing(
                f"{slug}-latency",
                f"How latency is distributed: {workload}",
                "Quantile curves of the default and of the best settings.",
                text.about_distributions(),
                draw_distributions(
                    chosen,
                    slo=(str(summary.slo), summary.slo.quantile, summary.slo.limit_us),
                    among=summary.conditions,
                ),
            )


def _draw_system(summary: WorkloadSummary, part: Part, name: str) -> Iterator[Drawing]:
    """The figures of one system."""
    slug, default, trade_off = _slug(name), summary.default_of(part.keys), summary.trade_off
    latency, cost = (quantity_name(q) for q in trade_off.quantities)
    if has_map(part.rows):
        limit_us = None if summary.slo is None else summary.limit_us
        yield Drawing(
            f"{slug}-map",
            f"{_upper(latency)} and {cost} over both knobs: {name}",
            f"A square for each ITR-delay and frequency, coloured by {latency} above and by {cost} below.",
            text.about_map(summary, part.rows),
            draw_maps(part.rows, trade_off, default=default, limit_us=limit_us),
        )
        if summary.slo is not None:
            yield Drawing(
                f"{slug}-l",
                f"The L of {latency} against {cost}: {name}",
                f"Settings as dots of {cost} and {latency}, coloured by frequency, and their front.",
                text.about_l_shape(summary),
                draw_l_shape(part.rows, trade_off, default=default, limit_us=limit_us),
            )
    if summary.slo is None and has_v_shape(part.rows):
        for quantity in (trade_off.cost, trade_off.latency):
            yield Drawing(
                f"{slug}-v-{_slug(quantity_name(quantity))}",
                f"{_upper(quantity_name(quantity))} over ITR-delay: {name}",
                f"{_upper(quantity_name(quantity))} over ITR-delay, a line for each frequency.",
                text.about_v_shape(part.rows, quantity),
                draw_v_shape(part.rows, quantity, default=default),
            )
    idle = idle_quantities(part.rows)
    if idle:
        yield Drawing(
            f"{slug}-idle",
            f"How cores sleep: {name}",
            "Idle states over ITR-delay, a line for each state.",
            text.about_idle(entries=not idle[0].startswith("residency_")),
            draw_idle(part.rows),
        )


def _slug(name: str) -> str:
    """A name for files and ids: `memcached, 600K requests/s` is `memcached-600k-requests-s`."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _upper(words: str) -> str:
    return words[0].upper() + words[1:]
