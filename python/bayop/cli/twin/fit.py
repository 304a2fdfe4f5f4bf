"""`bayop twin fit`: fits numbers of a profile to measured cells, or to captures of a server's interrupts."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from bayop.cli.flags import arguments
from bayop.cli.terminal.new_files import check_out
from bayop.cli.terminal.output import Bar, console, new_table, print_json, progress
from bayop.cli.twin import flags
from bayop.cli.twin.fit_capture import add_captures, check_no_capture_flags, run_captures
from bayop.errors import InputError
from bayop.units import round_significant

if TYPE_CHECKING:
    from bayop import _core
    from bayop.twin.calibrate import Fit, Sibling
    from bayop.twin.validate import Cell, Errors

EXAMPLE: Final = """\
  bayop twin fit --data example:silo --profile linux-silo --out fitted.toml
  bayop twin fit --data sweep.csv --os linux --profile mine.toml --out new.toml \\
      --loads 50kqps,200kqps --parameters application,power,os.steer_us
  bayop twin fit --capture logs/10us logs/200us --profile mine.toml --out new.toml \\
      --setting nic.rx_usecs=10us,cpu.freq_mhz=2.1GHz --setting nic.rx_usecs=200us,cpu.freq_mhz=2.1GHz \\
      --power-w 71.2,64.9
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    source = parser.add_mutually_exclusive_group(required=True)
    flags.add_data(source, required=False)
    add_captures(source, parser)
    add_fit(parser)
    flags.add_loads(
        parser,
        "fit the cells at these loads, requests/s or message sizes such as 64KB; with --capture the load of each one, "
        "where without it every packet counts as a request",
    )
    parser.add_argument(
        "--out",
        type=arguments.reader(arguments.path, "--out"),
        required=True,
        metavar="FILE",
        help="where the profile goes",
    )


def add_problem(parser: argparse.ArgumentParser) -> None:
    """The flags that say what is fitted; `crossvalidate` has them too."""
    flags.add_data(parser)
    add_fit(parser)


def add_fit(parser: argparse.ArgumentParser) -> None:
    """Where a fit starts, what it may change, and how long it takes."""
    parser.add_argument("--profile", required=True, metavar="NAME|FILE", help="where the fit starts")
    parser.add_argument(
        "--os",
        help="the operating system of the cells (default: the first word of a built-in profile's name, else the only "
        "one in the data)",
    )
    parser.add_argument(
        "--with",
        dest="siblings",
        type=arguments.reader(_sibling, "--with"),
        action="append",
        default=[],
        metavar="PROFILE=FILE",
        help="fit machine and system to what another application on them showed, too; may come several times",
    )
    parser.add_argument(
        "--parameters",
        type=lambda text: [part.strip() for part in text.split(",")],
        default=["application"],
        metavar="KEY,...",
        help="numbers of the profile by their dotted keys, or the groups application, system, power, exchange, "
        "interrupts (default: application)",
    )
    parser.add_argument(
        "--max-utilization",
        type=arguments.reader(arguments.share, "--max-utilization"),
        default=1.0,
        metavar="SHARE",
        help="leave out cells whose cores were busier than this, such as saturated ones (default: 1)",
    )
    parser.add_argument(
        "--sweeps",
        type=arguments.reader(arguments.positive, "--sweeps"),
        default=100,
        metavar="N",
        help="budget: how often all cells are simulated, give or take a step (default: 100)",
    )
    flags.add_simulation(parser, requests=50_000)
    arguments.add_json(parser)


def cells_to_fit(args: argparse.Namespace) -> list[Cell]:
    """The measured cells that `add_problem`'s flags name, at all loads.

    Raises:
        InputError: the file is no study, or it does not have the one operating system that it must be about.
    """
    cells = flags.cells_of(args.data, os=args.os or system_of(args.profile))
    flags.check_one_system(cells, args.profile)
    return [cell for cell in cells if cell.measured.get("utilization", 0.0) <= args.max_utilization]


def system_of(name_or_file: str) -> str | None:
    """The operating system of a built-in profile, `linux` of `linux-silo`; None of a file, whose name says nothing."""
    from bayop.twin.profile_library import profile_names

    name = name_or_file.partition("@")[0]
    return name.partition("-")[0] if name in profile_names() else None


def _sibling(text: str) -> Sibling:
    from bayop.twin.calibrate import Sibling
    from bayop.twin.profile_library import load_profile

    name, equals, data = text.partition("=")
    if not equals:
        raise InputError("it must be a profile and a study", value=text, hint="for example linux-silo=example:silo")
    profile, system = load_profile(name), system_of(name)
    cells = [cell for cell in flags.cells_of(arguments.study_file(data), os=None) if system in (None, cell.os)]
    if not cells:
        hint = "a profile's name begins with its system, as linux-silo does"
        raise InputError(wrong=f"{data} has no trials of {system}", value=text, hint=hint)
    flags.check_one_system(cells, name)
    return Sibling(profile, [cell for cell in cells if not cell.is_default])


def parameters_to_fit(args: argparse.Namespace, profile: _core.Profile) -> list[str]:
    """The keys that `--parameters` names.

    Raises:
        InputError: a name is neither a group nor the key of a number that can be fitted.
    """
    from bayop.twin.calibrate import named_parameters

    return arguments.reader(partial(named_parameters, profile), "--parameters")(args.parameters)


def calibrate(
    args: argparse.Namespace,
    start: _core.Profile,
    cells: Sequence[Cell],
    parameters: Sequence[str],
    bar: Bar,
) -> Fit:
    """Fits parameters to the settings among `cells`, as `add_problem`'s flags say; the default policy is not fitted."""
    from bayop.twin.calibrate import Calibration

    return Calibration(
        start,
        [cell for cell in cells if not cell.is_default],
        parameters,
        siblings=args.siblings,
        requests=args.requests,
        seed=args.seed,
        threads=args.threads,
        on_simulated=bar.advance,
    ).run(sweeps=args.sweeps)


def run(args: argparse.Namespace) -> int:
    """Fits, writes the profile, and prints what changed and how well it fits at every load or capture."""
    check_out(args.out)
    if args.capture is not None:
        return run_captures(args)
    check_no_capture_flags(args)
    from bayop.twin.profile_library import parse_profile, read_profile
    from bayop.twin.profile_text import with_numbers
    from bayop.twin.validate import compare, errors_by_load

    text, source = read_profile(args.profile)
    profile = parse_profile(text, source=source)
    cells = cells_to_fit(args)
    training = flags.cells_at(cells, args.loads)
    parameters = parameters_to_fit(args, profile)

    def errors(candidate: _core.Profile) -> list[Errors]:
        return errors_by_load(
            compare(candidate, cells, requests=4 * args.requests, seed=args.seed + 1, threads=args.threads)
        )

    with progress("sweeps", args.sweeps) as bar:
        fit = calibrate(args, profile, training, parameters, bar)
    flags.write_profile(args.out, with_numbers(text, fit.after))
    _print(args, fit, {"before": errors(profile), "after": errors(fit.profile)}, training)
    return 0


def _print(args: argparse.Namespace, fit: Fit, errors: Mapping[str, list[Errors]], training: list[Cell]) -> None:
    loads = {cell.load for cell in training}
    if args.json:
        changes = {
            key: {"before": round_significant(fit.before[key]), "after": round_significant(value)}
            for key, value in fit.after.items()
        }
        print_json(flags.fit_event(args.profile, changes, args.out, complete=fit.is_complete))
        for stage, rows in errors.items():
            for row in rows:
                fitted_here = row.load in loads
                print_json(flags.errors_event(args.profile, row, event=stage, fitted=fitted_here))
        return
    table = new_table()
    for column in ("parameter", "before", "after"):
        table.add_column(column, justify="left" if column == "parameter" else "right")
    for key, value in fit.after.items():
        table.add_row(key, f"{fit.before[key]:.5g}", f"{value:.5g}")
    console().print(table)
    for stage, rows in errors.items():
        console().print(f"[bold]Errors {stage} the fit[/bold], at loads that are fitted or predicted")
        console().print(flags.error_table(("fitted" if row.load in loads else "predicted", row) for row in rows))
    flags.print_end(args.sweeps, complete=fit.is_complete)
    console().print(f"[bold]Written:[/bold] {args.out}")
