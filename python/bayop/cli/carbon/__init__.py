"""`bayop carbon`: the carbon of a request on different machines and operating systems."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bayop.cli.flags import arguments
from bayop.cli.terminal.output import console, print_json
from bayop.errors import InputError

if TYPE_CHECKING:
    from bayop.carbon.compare import Comparison
    from bayop.carbon.files import Entry
    from bayop.carbon.grid import Grid

EXAMPLE: Final = """\
  bayop carbon systor_cci.csv
  bayop carbon old.toml new.toml --grid 35g/kWh --lifetime 4y --out carbon
  bayop carbon old.toml new.toml --grid-series hourly.csv --json
"""

_DEFAULT_GRID: Final = 277.3
_GRID = re.compile(r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*g(CO2e?)?/kWh")
_YEARS = re.compile(r"(?P<number>\d+\.?\d*|\.\d+)\s*y")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument(
        "stacks",
        nargs="+",
        type=arguments.reader(arguments.path, "FILE"),
        metavar="FILE",
        help="machines under operating systems: .toml files, or the published systor_cci.csv",
    )
    grid = parser.add_mutually_exclusive_group()
    grid.add_argument(
        "--grid",
        type=arguments.reader(_grid, "--grid"),
        metavar="G/KWH",
        help=f"carbon of electricity, such as 35g/kWh (default: as the file says, else {_DEFAULT_GRID}g/kWh: "
        "New England, as the paper has it)",
    )
    grid.add_argument(
        "--grid-series",
        type=arguments.reader(arguments.path, "--grid-series"),
        metavar="CSV",
        help="carbon of electricity by the hour: the columns hour and gco2_per_kwh; it repeats",
    )
    parser.add_argument(
        "--lifetime",
        type=arguments.reader(_years, "--lifetime"),
        default=5.0,
        metavar="YEARS",
        help="over which the making of a machine is spread, such as 3y (default: 5y)",
    )
    arguments.add_json(parser)
    parser.add_argument(
        "--out",
        type=arguments.reader(arguments.path, "--out"),
        metavar="DIR",
        help="write figures there: carbon by source, and over the months (default: none)",
    )


def run(args: argparse.Namespace) -> int:
    """Compares the stacks and prints."""
    from bayop.carbon.compare import compare
    from bayop.carbon.files import read_stacks
    from bayop.cli.carbon import tables

    entries = [entry for path in args.stacks for entry in read_stacks(path)]
    _check_names(entries)
    comparisons = compare(entries, lambda entry: _grid_of(args, entry), args.lifetime)
    if args.json:
        for event in tables.events(comparisons, args.lifetime):
            print_json(event)
    else:
        for part in tables.tables(comparisons, args.lifetime):
            console().print(part)
    if args.out is not None:
        _write_figures(args.out, comparisons, args.lifetime)
    return 0


def _grid_of(args: argparse.Namespace, entry: Entry) -> Grid:
    from bayop.carbon.grid import Grid, read_grid

    if args.grid_series is not None:
        return read_grid(args.grid_series)
    given: Grid | None = args.grid
    return given or Grid((_DEFAULT_GRID if entry.grid_g_per_kwh is None else entry.grid_g_per_kwh,))


def _check_names(entries: list[Entry]) -> None:
    names = [(entry.stack.app, entry.stack.name) for entry in entries]
    for app, name in names:
        if names.count((app, name)) > 1:
            raise InputError("the stacks of an application must have different names", value=name, place=app)


def _write_figures(folder: Path, comparisons: list[Comparison], lifetime_years: float) -> None:
    from bayop.files import make_folder
    from bayop.report.carbon import draw_months, draw_sources
    from bayop.report.style import bayop_style
    from bayop.report.svg import Drawing, save

    make_folder(folder)
    with bayop_style():
        title = "Carbon of a million requests, by source"
        save(Drawing("carbon_sources", title, title, "", draw_sources(comparisons)), folder)
        for app in dict.fromkeys(c.stack.app for c in comparisons):
            title = f"Carbon intensity of {app} over the months"
            mine = [c for c in comparisons if c.stack.app == app]
            name = re.sub(r"\W+", "_", app)
            save(Drawing(f"carbon_months_{name}", title, title, "", draw_months(mine, lifetime_years)), folder)


def _grid(given: str) -> Grid:
    """A grid that is always the same.

    Raises:
        InputError: no number, no unit or another one, or nothing that a grid emits.
    """
    from bayop.carbon.grid import Grid

    match = _GRID.fullmatch(given.strip())
    if match is None:
        raise InputError(
            "a grid's carbon intensity must be a number with the unit g/kWh", value=given, hint="such as 35g/kWh"
        )
    try:
        return Grid((float(match["number"]),))
    except InputError as error:
        raise error.but(value=given) from error


def _years(given: str) -> float:
    match = _YEARS.fullmatch(given.strip())
    if match is None:
        raise InputError("a lifetime must be a number with the unit y", value=given, hint="such as 3y")
    years = float(match["number"])
    if not 0.0 < years <= 50.0:
        raise InputError("a lifetime must be positive and at most 50 years", value=given, hint="such as 5y")
    return years
