"""`bayop report`: what studies say, as a page with figures."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from bayop import __version__
from bayop.cli.flags import arguments
from bayop.cli.terminal.output import console, literal, new_table, print_json, progress
from bayop.errors import InputError
from bayop.units import round_significant

if TYPE_CHECKING:
    import polars as pl

    from bayop.analysis.savings import Saving
    from bayop.analysis.summary import WorkloadSummary
    from bayop.cli.terminal.tables import FittingTable
    from bayop.report.study.page import Provenance

EXAMPLE: Final = """\
  bayop report example:memcached
  bayop report example:memcached example:silo --slo 'p99<400us' --out both
  bayop report sweep.parquet --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument(
        "studies",
        type=arguments.reader(arguments.study_file, "STUDY"),
        nargs="+",
        metavar="STUDY",
        help="a study: Parquet, CSV or CSV.gz, of BayOp's or a published layout; several are analysed together",
    )
    arguments.add_slo(parser)
    arguments.add_with_ebbrt(parser)
    arguments.add_report_folder(parser, default="bayop-report")
    arguments.add_seed(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Analyses the studies and writes the report; 1 when no setting of any open-loop work meets the SLO."""
    from bayop.analysis.summary import summarize
    from bayop.files import make_folder
    from bayop.report.study.page import Provenance
    from bayop.report.study.report import write_report

    study = _open(args)
    try:
        summaries = summarize(study, args.slo, seed=args.seed)
    except InputError as error:
        raise error.at(", ".join(map(str, args.studies))) from error
    make_folder(args.out)
    provenance = Provenance.of(study, seed=args.seed, version=__version__)
    if args.json:
        print_json(_start_event(args, study, provenance))
        for summary in summaries:
            for event in _events(summary):
                print_json(event)
        print_json({"event": "result", "report": str(write_report(summaries, provenance, args.out))})
    else:
        with progress("workloads", len(summaries)) as bar:
            page = write_report(summaries, provenance, args.out, bar.advance)
        _show(summaries)
        console().print(f"The report is {page}", soft_wrap=True, markup=False)
    open_loop = [s for s in summaries if s.slo is not None]
    return 1 if open_loop and all(s.best.is_empty() for s in open_loop) else 0


def _open(args: argparse.Namespace) -> pl.DataFrame:
    from bayop.study import merge_studies, open_study

    studies = [open_study(path) for path in args.studies]
    study = studies[0] if len(studies) == 1 else merge_studies(studies)
    if args.with_ebbrt or "os" not in study.columns:
        return study
    others = study.remove(os="ebbrt")
    return study if others.is_empty() else others  # a study of EbbRT alone asks for it


def _start_event(args: argparse.Namespace, study: pl.DataFrame, provenance: Provenance) -> dict[str, object]:
    return {
        "event": "start",
        "studies": [str(path) for path in args.studies],
        "trials": study.height,
        "left_out": dict(provenance.left_out),
        "slo": str(args.slo),
        "seed": args.seed,
    }


def _events(summary: WorkloadSummary) -> Iterator[dict[str, object]]:
    """The front, the best settings and the savings of one workload."""
    for row in summary.front.iter_rows(named=True):
        yield {"event": "front"} | _point(summary, row) | {"on_front": _number(row["on_front"])}
    for row in summary.best.iter_rows(named=True):
        more = {"meets": _number(row["meets"]), "rivals": row["rivals"]}
        yield {"event": "best", "under": summary.bound} | _point(summary, row) | more
    for saving in summary.savings:
        yield _saving_event(saving, "saving")
    for tuned, savings in summary.knobs.items():
        for saving in savings:
            yield _saving_event(saving, "knobs") | {"tuned": tuned, "under": summary.bound}


def _point(summary: WorkloadSummary, row: Mapping[str, Any]) -> dict[str, object]:
    from bayop.analysis.cells import STANDARD_ERROR
    from bayop.analysis.conditions import SYSTEM, WORKLOAD
    from bayop.analysis.savings import setting_of

    event: dict[str, object] = {name: row[name] for name in (*WORKLOAD, *SYSTEM) if row.get(name) is not None}
    event |= {"setting": setting_of(row), "repeats": row["repeats"]}
    for name in summary.trade_off.quantities:
        event |= {name: _number(row[name]), STANDARD_ERROR + name: _number(row[STANDARD_ERROR + name])}
    return event


def _saving_event(saving: Saving, event: str) -> dict[str, object]:
    return {
        "event": event,
        **{name: value for name, value in saving.condition.items() if value is not None},
        "under": saving.under,
        "against": {name: value for name, value in saving.against.items() if value is not None},
        "setting": dict(saving.setting),
        "savings": {
            quantity: {"value": _number(r.value), "low": _number(r.low), "high": _number(r.high)}
            for quantity, r in saving.reductions.items()
        },
    }


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round_significant(value)


def _show(summaries: list[WorkloadSummary]) -> None:
    from bayop.report.study.words import workload_name

    for summary in summaries:
        console().print(f"[bold]{workload_name(summary.keys)}[/bold]")
        if summary.savings or summary.best_alone:
            console().print(_best_table(summary))
        if summary.best.is_empty():
            console().print(f"no setting meets {summary.slo}\n")


def _best_table(summary: WorkloadSummary) -> FittingTable:
    """The best settings with what they save, and those that have no default to compare with."""
    from bayop.analysis.savings import setting_of
    from bayop.report.study.text import NO_DEFAULT, certainty, with_interval
    from bayop.report.study.words import amount, quantity_name, setting_name, system_name

    latency, cost = summary.trade_off.quantities
    reductions = [saving.reductions[cost] for saving in summary.savings]
    caption = (
        f"true reductions against the default{certainty(reductions)}" if reductions else "no default to compare with"
    )
    table = new_table(caption)
    for name in ("system", "latency", "setting", quantity_name(cost), quantity_name(latency), "saving"):
        table.add_column(name)
    rows = [(saving.cell, saving.under, with_interval(saving.reductions[cost])) for saving in summary.savings]
    rows += [(row, summary.bound, NO_DEFAULT) for row in summary.best_alone]
    for row, under, saved in rows:
        setting, system = setting_name(setting_of(row)), system_name(row, summary.conditions)
        cells = (system, under, setting, amount(row, cost), f"{row[latency]:.4g} us", saved)
        table.add_row(*(literal(cell) for cell in cells))
    return table
