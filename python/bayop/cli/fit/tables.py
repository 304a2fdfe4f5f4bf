"""What `bayop fit` prints: parameters with their uncertainty, and errors in and out of sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table

from bayop.cli.terminal.output import new_table
from bayop.model.cells import Selection
from bayop.model.examine import Examination
from bayop.units import round_significant

_OFF_THE_SCALE = 10.0


def events(selection: Selection, examinations: Sequence[Examination]) -> Iterator[dict[str, object]]:
    """One JSON object for the cells, then parameters and errors of each model."""
    yield {
        "event": "cells",
        "os": selection.os,
        "slo": str(selection.cells.slo),
        "loads_qps": selection.cells.loads,
        "cells": len(selection.cells),
        "beyond_slo": selection.beyond_slo,
        "short_delay": selection.short_delay,
    }
    for examination in examinations:
        for load in examination.fit.parameter_loads:
            intervals = examination.intervals.get(load, {})
            yield {
                "event": "parameters",
                "os": selection.os,
                "model": examination.model,
                "load_qps": load,
                "parameters": {
                    p.name: {
                        "unit": p.unit,
                        "value": round_significant(p.value),
                        "standard_error": round_significant(p.standard_error),
                        "low": round_significant(intervals[p.name].low) if p.name in intervals else None,
                        "high": round_significant(intervals[p.name].high) if p.name in intervals else None,
                    }
                    for p in examination.fit.parameters(load)
                },
            }
        for error in examination.errors:
            yield {
                "event": "errors",
                "os": selection.os,
                "model": examination.model,
                "quantity": error.quantity,
                "load_qps": error.load,
                "cells": error.cells,
                "in_sample": round_significant(error.fitted, 4),
                "settings_out": round_significant(error.settings_out, 4),
                "load_out": round_significant(error.load_out, 4),
            }


def tables(selection: Selection, examinations: Sequence[Examination]) -> Iterator[Table | str]:
    """A heading, the parameters of each model, and all models' errors."""
    cells = selection.cells
    loads = ", ".join(f"{load:g}" for load in cells.loads)
    yield (
        f"[bold]{selection.os or 'study'}[/bold]: {len(cells)} settings and loads at {loads} requests/s; left out: "
        f"{selection.beyond_slo} beyond {cells.slo}, {selection.short_delay} with a shorter ITR-delay"
    )
    for examination in examinations:
        yield _parameter_table(examination)
    yield _error_table(examinations)


def _parameter_table(examination: Examination) -> Table:
    table = new_table()
    for heading in (f"{examination.model} model", "load", "value", "± s.e.", "95 % of bootstrap", "unit"):
        table.add_column(heading, justify="left" if heading == "unit" or "model" in heading else "right")
    for load in examination.fit.parameter_loads:
        intervals = examination.intervals.get(load, {})
        for parameter in examination.fit.parameters(load):
            interval = intervals.get(parameter.name)
            table.add_row(
                parameter.name,
                "all" if load is None else f"{load:g}",
                f"{parameter.value:.4g}",
                f"{parameter.standard_error:.2g}",
                f"{interval.low:.4g} to {interval.high:.4g}" if interval else "-",
                parameter.unit,
            )
    return table


def _error_table(examinations: Sequence[Examination]) -> Table:
    table = new_table(caption="mean absolute errors in %; new: fits that have not seen the setting, or the load")
    table.add_column("quantity", no_wrap=True)
    table.add_column("model", no_wrap=True)
    for heading in ("load", "in sample", "new setting", "new load"):
        table.add_column(heading, justify="right")
    for examination in examinations:
        for error in examination.errors:
            table.add_row(
                error.quantity,
                examination.model,
                f"{error.load:g}",
                *(_percent(share) for share in (error.fitted, error.settings_out, error.load_out)),
            )
    return table


def _percent(share: float | None) -> str:
    if share is None:
        return "-"
    return f"{100.0 * share:.1f}" if share < _OFF_THE_SCALE else f"> {100.0 * _OFF_THE_SCALE:.0f}"
