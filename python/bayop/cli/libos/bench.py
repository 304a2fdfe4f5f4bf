"""`bayop libos bench`: instructions that a request costs on the library OS, by its TCP or smoltcp's, and on Linux."""

from __future__ import annotations

import argparse
from itertools import groupby
from typing import TYPE_CHECKING, Final

from bayop.cli.flags import arguments
from bayop.cli.libos.sources import open_sources
from bayop.cli.terminal.output import console, new_table, print_json, progress
from bayop.errors import InputError
from bayop.units import round_significant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.libos.costs import Cost
    from bench.libos.count import Window

    from bayop.cli.terminal.tables import FittingTable

APPS: Final = ("memcached", "tpcc")
SYSTEMS: Final = ("libos", "smoltcp", "linux", "linux-tuned")
EXAMPLE: Final = """\
  bayop libos bench
  bayop libos bench --apps tpcc --connections 1 --repeats 1 --out build/libos
  bayop libos bench --apps memcached --connections 16 --qps 1k,8k
  bayop libos bench --systems libos --connections 64,10000 --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    for flag, names, of in (("--apps", APPS, "services"), ("--systems", SYSTEMS, "systems")):
        parser.add_argument(
            flag,
            type=arguments.reader(_some_of(names), flag),
            default=names,
            metavar="NAME,...",
            help=f"which {of}: {', '.join(names)} (default: all)",
        )
    parser.add_argument(
        "--connections",
        type=arguments.reader(_connections, "--connections"),
        metavar="N,...",
        help="how many are open (default with --qps: 16)",
    )
    parser.add_argument(
        "--qps",
        type=arguments.reader(_rates, "--qps"),
        metavar="Q,...",
        help="the loads that are offered, over all connections (default with --connections: 1kqps; without either what "
        "docs/libos.md shows is counted, in an hour)",
    )
    parser.add_argument(
        "--window",
        type=arguments.reader(arguments.duration_s, "--window"),
        default=3.0,
        metavar="TIME",
        help="how long is counted on one machine (default: 3s)",
    )
    parser.add_argument(
        "--repeats",
        type=arguments.reader(arguments.whole_number(1, 1000), "--repeats"),
        default=5,
        metavar="N",
        help="machines for each row, of which the median is said (default: %(default)s)",
    )
    parser.add_argument(
        "--out",
        type=arguments.reader(arguments.path, "--out"),
        metavar="DIR",
        help="write a report with figures there, and the windows",
    )
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Counts, and prints a row for each service, system, number of connections and load.

    Raises:
        InputError: There is nothing to count.
        LabError: A machine does not start.
        UnsupportedError: This machine can't count, or something is not built.
    """
    windows = count_windows(args)
    if not args.json:
        _print(windows)
    if args.out is not None:
        from bench.libos.report import write_report

        from bayop import __version__

        report = write_report(windows, args.out, __version__)
        if args.json:
            print_json({"event": "result", "report": str(report)})
        else:
            console().print(f"The report is {report}", soft_wrap=True, markup=False)
    return 0


def count_windows(args: argparse.Namespace) -> Sequence[Window]:
    """Counts what the flags say, under a bar; with `--json` prints each row once it is known."""
    open_sources()
    from bench.libos.costs import costs
    from bench.libos.count import count
    from bench.libos.plan import points

    windows: list[Window] = []
    chosen = points(apps=args.apps, systems=args.systems, connections=args.connections, qps=args.qps)
    total = args.repeats * sum(len(point.systems) for point in chosen)
    with progress("machines", total) as bar:
        found = count(chosen, window_s=args.window, repeats=args.repeats)
        for _, group in groupby(found, key=lambda window: (window.app, window.connections, window.qps)):
            some = []
            for window in group:
                some.append(window)
                bar.advance()
            windows += some
            if args.json:
                for cost in costs(some):
                    print_json(_event(cost))
    return windows


def _event(cost: Cost) -> dict[str, object]:
    event = {
        "event": "libos",
        "system": cost.system,
        "app": cost.app,
        "connections": cost.connections,
        "qps": cost.qps,
        "instructions_per_request": round_significant(cost.instructions_per_request),
        "instructions_least": round_significant(cost.instructions_least),
        "instructions_greatest": round_significant(cost.instructions_greatest),
        "interrupts_per_request": round_significant(cost.interrupts_per_request),
        "halts_per_request": round_significant(cost.halts_per_request),
    }
    layers = {layer: round_significant(number) for layer, number in cost.layers.items()}
    return event | ({"layers": layers} if layers else {})


def _print(windows: Sequence[Window]) -> None:
    from bench.libos.costs import cells, layer_cells

    screen = console()
    screen.print(_table(cells(windows), "medians over machines; docs/libos.md says how they are counted"))
    apart = layer_cells(windows)
    if len(apart) > 1:
        screen.print(_table(apart, "instructions a request by layer"))


def _table(cells: Sequence[Sequence[str]], caption: str) -> FittingTable:
    header, *rows = cells
    table = new_table(caption)
    for name in header:
        table.add_column(name, justify="left" if name in ("app", "system") else "right")
    for row in rows:
        table.add_row(*row)
    return table


def _some_of(names: Sequence[str]) -> Callable[[str], Sequence[str]]:
    def parse(text: str) -> Sequence[str]:
        chosen = [part.strip() for part in text.split(",")]
        if not set(chosen) <= set(names):
            raise InputError(f"names must be of {', '.join(names)}", value=text)
        return [name for name in names if name in chosen]

    return parse


def _connections(text: str) -> Sequence[int]:
    parse = arguments.whole_number(1, 60_000)
    return list(dict.fromkeys(parse(part.strip()) for part in text.split(",")))


def _rates(text: str) -> Sequence[float]:
    return list(dict.fromkeys(arguments.qps(part.strip()) for part in text.split(",")))
