"""`bayop twin fit`: fits numbers of a profile to measured cells."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from bayop.cli import arguments, twin_flags
from bayop.cli.output import console, print_json, round_significant
from bayop.errors import InputError, UnsupportedError

if TYPE_CHECKING:
    from bayop import _core
    from bayop.study.calibrate import Fit
    from bayop.study.validate import Cell, Errors

EXAMPLE: Final = """\
  bayop twin fit --data study_silo.csv --profile linux-silo --loads 50000,200000 --out linux_silo.toml
  bayop twin fit --data sweep.csv --profile mine.toml --parameters application,power,os.steer_us --out fitted.toml
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    add_problem(parser)
    twin_flags.add_loads(parser, "fit the cells at these loads, requests/s")
    parser.add_argument("--out", type=arguments.path, required=True, metavar="FILE", help="where the profile goes")


def add_problem(parser: argparse.ArgumentParser) -> None:
    """The flags that say what is fitted; `crossvalidate` has them too."""
    twin_flags.add_data(parser)
    parser.add_argument("--profile", required=True, metavar="NAME|FILE", help="where the fit starts")
    parser.add_argument(
        "--os", help="the operating system of the cells (default: the first word of the profile's name)"
    )
    parser.add_argument(
        "--parameters",
        type=lambda text: [part.strip() for part in text.split(",")],
        default=["application"],
        metavar="KEY,...",
        help="numbers of the profile by their dotted keys, or the groups application, system, power "
        "(default: application)",
    )
    parser.add_argument(
        "--sweeps",
        type=arguments.reader(arguments.positive, "--sweeps"),
        default=100,
        help="budget: how often all cells are simulated, give or take a step (default: 100)",
    )
    twin_flags.add_simulation(parser, requests=50_000)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Fits, writes the profile, and prints what changed and how well it fits at every load."""
    from bayop.study.calibrate import Calibration, named_parameters
    from bayop.study.validate import compare, errors_by_load
    from bayop.target.profile_text import with_numbers
    from bayop.target.twin import parse_profile, read_profile

    if not args.out.parent.is_dir():
        raise InputError("the profile goes into a folder that exists", value=str(args.out), place="--out")
    text, source = read_profile(args.profile)
    profile = parse_profile(text, source=source)
    system = args.os or args.profile.partition("-")[0]
    cells = twin_flags.cells_of(args.data, os=system, qps=[])
    fitted = twin_flags.cells_of(args.data, os=system, qps=args.loads)
    parameters = named_parameters(profile, args.parameters)

    def errors(server: _core.Profile) -> list[Errors]:
        return errors_by_load(
            compare(server, cells, requests=4 * args.requests, seed=args.seed + 1, threads=args.threads)
        )

    before = errors(profile)
    with twin_flags.progress("sweeps", args.sweeps) as bar:
        fit = Calibration(
            profile,
            [cell for cell in fitted if not cell.is_default],
            parameters,
            requests=args.requests,
            seed=args.seed,
            threads=args.threads,
            on_simulated=bar.advance,
        ).run(sweeps=args.sweeps)
    _write(args, with_numbers(text, fit.after))
    _print(args, fit, {"before": before, "after": errors(fit.profile)}, fitted)
    return 0


def _write(args: argparse.Namespace, text: str) -> None:
    try:
        args.out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UnsupportedError(
            "the profile can be written", value=str(args.out), place="--out", hint=error.strerror
        ) from error


def _print(args: argparse.Namespace, fit: Fit, errors: Mapping[str, list[Errors]], fitted: list[Cell]) -> None:
    loads = {cell.qps for cell in fitted}
    if args.json:
        changes = {
            key: {"before": round_significant(fit.before[key]), "after": round_significant(value)}
            for key, value in fit.after.items()
        }
        print_json({"event": "fit", "profile": args.profile, "parameters": changes, "out": str(args.out)})
        for stage, rows in errors.items():
            for row in rows:
                fitted_here = row.qps in loads
                print_json(twin_flags.errors_event(args.profile, row, event=stage, fitted=fitted_here))
        return
    from rich.table import Table

    table = Table(pad_edge=False)
    for column in ("parameter", "before", "after"):
        table.add_column(column, justify="left" if column == "parameter" else "right")
    for key, value in fit.after.items():
        table.add_row(key, f"{fit.before[key]:.5g}", f"{value:.5g}")
    console().print(table)
    labelled = [
        (f"{stage}{', fitted' if row.qps in loads else ', predicted'}", row)
        for stage, rows in errors.items()
        for row in rows
    ]
    console().print(twin_flags.error_table(labelled))
    console().print(f"[bold]Written:[/bold] {args.out}")
