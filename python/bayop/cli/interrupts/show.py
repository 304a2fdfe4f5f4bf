"""`bayop interrupts show`: what logs show, side by side."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from bayop.cli.flags import arguments
from bayop.cli.interrupts.flags import add_machine, open_given
from bayop.cli.terminal.output import console, literal, new_table, print_json, progress

if TYPE_CHECKING:
    from rich.table import Table

    from bayop.interrupts.log import Log
    from bayop.interrupts.summary import Summary

EXAMPLE: Final = """\
  bayop interrupts show interrupts_netpipe_linux_default_8192B.csv.gz
  bayop interrupts show interrupts_netpipe_*.csv.gz --out build/interrupts
  bayop interrupts show /data/mcd/*.parquet --ray auto --json
"""

_Numbers = Mapping[str, Any]
# What a row of the table says: label, where its number is, how it is written.
_ROWS: Final[tuple[tuple[str, tuple[str, ...], str], ...]] = (
    ("interrupts", ("records",), "d"),
    ("span (s)", ("span_s",), ".4f"),
    ("spacing, mean (us)", ("spacing", "mean_us"), ".2f"),
    ("  p1", ("spacing", "p1_us"), ".2f"),
    ("  p50", ("spacing", "p50_us"), ".2f"),
    ("  p99", ("spacing", "p99_us"), ".2f"),
    ("  coefficient of variation", ("spacing", "variation"), ".3f"),
    ("  least median of a moment", ("median_spacing_over_time", "least_us"), ".1f"),
    ("  greatest median of a moment", ("median_spacing_over_time", "greatest_us"), ".1f"),
    ("empty interrupts", ("empty_interrupts",), "d"),
    ("rx bytes / interrupt", ("per_interrupt", "rx_bytes", "mean"), ".1f"),
    ("  descriptors", ("per_interrupt", "rx_descriptors", "mean"), ".2f"),
    ("tx bytes / interrupt", ("per_interrupt", "tx_bytes", "mean"), ".1f"),
    ("  descriptors", ("per_interrupt", "tx_descriptors", "mean"), ".2f"),
    ("samples of the counters", ("counters", "samples"), "d"),
    ("energy (J)", ("counters", "energy_j"), ".3f"),
    ("power (W)", ("counters", "power_w"), ".2f"),
    ("utilization", ("counters", "utilization"), ".3f"),
    ("frequency while busy (MHz)", ("counters", "mean_freq_mhz"), ".0f"),
    ("instructions / interrupt", ("counters", "instructions_per_interrupt"), ".0f"),
    ("energy / interrupt (uJ)", ("counters", "energy_per_interrupt_uj"), ".1f"),
    ("busy episodes", ("episodes", "busy", "count"), "d"),
    ("  longest (ms)", ("episodes", "busy", "longest_ms"), ".1f"),
    ("idle episodes", ("episodes", "idle", "count"), "d"),
    ("  longest (ms)", ("episodes", "idle", "longest_ms"), ".1f"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument(
        "files",
        nargs="+",
        type=arguments.reader(arguments.path, "FILE"),
        metavar="FILE",
        help="intlog's text, EbbRT's memory or a published CSV, also with gzip, or Parquet; each file is a log",
    )
    parser.add_argument(
        "--out",
        type=arguments.reader(arguments.path, "--out"),
        metavar="DIR",
        help="draw figures and write over_time.csv",
    )
    parser.add_argument("--ray", metavar="ADDRESS", help="let a Ray cluster read the files, which all its nodes see")
    add_machine(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Reads the logs and prints what they show."""
    from bayop.interrupts.numbers import describe, describe_all

    if args.out is not None:
        from bayop.files import make_folder

        make_folder(args.out)
    logs = [open_given(path, args) for path in args.files]
    with progress("pieces", sum(len(log.pieces()) for log in logs)) as bar:
        summaries = _summaries(logs, args.ray, bar.advance)
    descriptions = [describe(summary) for summary in summaries]
    alike = len({summary.layout.tick_hz for summary in summaries}) == 1
    if args.json:
        for path, numbers in zip(args.files, descriptions, strict=True):
            print_json({"event": "log", "file": str(path), **numbers})
        if len(logs) > 1 and alike:
            print_json({"event": "all", **describe_all(summaries)})
    else:
        _print(logs, descriptions)
    if args.out is not None:
        from bayop.report.interrupts.report import write_report

        names = write_report({log.path: summary for log, summary in zip(logs, summaries, strict=True)}, args.out)
        if not args.json:
            console().print(f"wrote {', '.join(names)} to {args.out}", markup=False)
    return 0


def _summaries(logs: Sequence[Log], ray: str | None, on_piece: Callable[[], None]) -> list[Summary]:
    if ray is not None:
        from bayop.interrupts.cluster import summarise_on_cluster

        return summarise_on_cluster(logs, ray, on_piece)
    from bayop.interrupts.query import summarise

    return [summarise(log, on_piece) for log in logs]


def _print(logs: Sequence[Log], descriptions: Sequence[_Numbers]) -> None:
    from bayop.report.interrupts.report import short_names

    names = short_names([log.path for log in logs])
    console().print(_table(names, descriptions))
    for name, numbers in zip(names, descriptions, strict=True):
        for state, quantities in numbers["idle_states"].items():
            words = [f"{_format(value, '.6g')} {key}" for key, value in quantities.items()]
            doubt = " (the driver's counters are not reliable)" if "residency" in quantities else ""
            console().print(literal(f"{name}: {state} {', '.join(words)}{doubt}"))
        if numbers["one_record_per_sample"]:
            note = "every record is a sample: interrupts were rare, or the driver kept only one record a millisecond"
            console().print(literal(f"{name}: {note}"))


def _table(names: Sequence[str], descriptions: Sequence[_Numbers]) -> Table:
    table = new_table()
    table.add_column("quantity", no_wrap=True)
    for name in names:
        table.add_column(literal(name), justify="right", overflow="fold")
    for label, where, form in _ROWS:
        table.add_row(label, *(_format(_at(numbers, where), form) for numbers in descriptions))
    for name in dict.fromkeys(name for numbers in descriptions for name in numbers["amounts"]):
        means = (numbers["amounts"].get(name, {}).get("mean") for numbers in descriptions)
        table.add_row(literal(f"{name} / interrupt"), *(_format(mean, ".1f") for mean in means))
    return table


def _at(numbers: _Numbers, where: tuple[str, ...]) -> float | None:
    value: Any = numbers
    for key in where:
        value = value[key]
    return None if value is None else float(value)


def _format(value: float | None, form: str) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if form == "d" else f"{value:{form}}"
