"""`bayop twin crossvalidate`: what a fit is worth at a load that it has not seen."""

from __future__ import annotations

import argparse
from typing import Final

from bayop.cli.flags import arguments
from bayop.cli.terminal.output import console, print_json, progress
from bayop.cli.twin import flags
from bayop.cli.twin.fit import add_problem, calibrate, cells_to_fit, parameters_to_fit
from bayop.errors import InputError

EXAMPLE: Final = """\
  bayop twin crossvalidate --data example:silo --profile linux-silo
  bayop twin crossvalidate --data example:memcached \\
      --profile ebbrt-memcached --parameters application,system,power
  bayop twin crossvalidate --data example:memcached --profile linux-memcached \\
      --parameters power --with linux-silo=example:silo
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    add_problem(parser)
    parser.add_argument(
        "--scatter",
        type=arguments.reader(arguments.share, "--scatter"),
        default=0.2,
        metavar="SHARE",
        help="start every fit from parameters that are this far off at random, as a relative standard deviation: the "
        "profile itself has seen every load (default: 0.2)",
    )


def run(args: argparse.Namespace) -> int:
    """Fits and predicts once for every load, and prints the errors of the predictions."""
    from bayop.twin.calibrate import scattered
    from bayop.twin.profile_library import load_profile
    from bayop.twin.validate import compare, errors_by_load

    profile = load_profile(args.profile)
    cells = cells_to_fit(args)
    loads = sorted({cell.load for cell in cells})
    if len(loads) < 2:
        raise InputError(
            "a cross-validation must have cells at two loads or more",
            wrong=f"the cells are of {len(loads)} load",
            value=f"{len(loads)} load",
        )
    parameters = parameters_to_fit(args, profile)
    results = []
    with progress("sweeps", args.sweeps * len(loads)) as bar:
        for number, held_out in enumerate(loads):
            start = scattered(profile, parameters, relative_sd=args.scatter, seed=args.seed + number)
            training = [cell for cell in cells if cell.load != held_out]
            fit = calibrate(args, start, training, parameters, bar)
            test = [cell for cell in cells if cell.load == held_out]
            predicted = compare(fit.profile, test, requests=4 * args.requests, seed=args.seed + 1, threads=args.threads)
            others = [load for load in loads if load != held_out]
            results.append((others, errors_by_load(predicted)[0], fit.is_complete))
            bar.reach(args.sweeps * (number + 1))
    if args.json:
        for others, errors, complete in results:
            print_json(flags.errors_event(args.profile, errors, fitted_on=others, complete=complete))
    else:
        console().print(f"[bold]{args.profile}[/bold]: fitted on the other loads, predicted at this one")
        console().print(flags.error_table(("predicted", errors) for _, errors, _ in results))
        flags.print_end(args.sweeps, complete=all(complete for *_, complete in results))
    return 0
