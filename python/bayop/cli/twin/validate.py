"""`bayop twin validate`: how far the twin is from every measured cell of a study."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from bayop.cli.flags import arguments
from bayop.cli.terminal.output import console, print_json, progress
from bayop.cli.twin import flags
from bayop.errors import InputError

if TYPE_CHECKING:
    from bayop import _core
    from bayop.twin.validate import Cell

EXAMPLE: Final = """\
  bayop twin validate --data example:memcached
  bayop twin validate --data example:silo --os linux --loads 200kqps --json
  bayop twin validate --data study_netpipe.csv --requests 8000
  bayop twin validate --data my_sweep.csv --os linux --profile my_server.toml
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    flags.add_data(parser)
    parser.add_argument(
        "--app", help="the application that was measured (default: as the study or the file's name says)"
    )
    parser.add_argument("--os", help="only this operating system (default: every one in the file)")
    flags.add_loads(parser, "only these loads, requests/s or message sizes such as 64KB")
    parser.add_argument(
        "--profile", metavar="NAME|FILE", help="the server (default: the built-in profile OS-APP of every system)"
    )
    flags.add_simulation(parser, requests=200_000)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Simulates every cell and prints the errors."""
    from bayop.twin.validate import compare, errors_by_load

    cells = flags.cells_of(args.data, os=args.os, loads=args.loads)
    systems = sorted({cell.os for cell in cells})
    app, profiles = _profiles(args, cells, systems)
    comparisons = []
    with progress("cells", len(cells)) as bar:
        for system in systems:
            comparisons += compare(
                profiles[system],
                [cell for cell in cells if cell.os == system],
                requests=args.requests,
                seed=args.seed,
                threads=args.threads,
                on_done=bar.advance,
            )
    errors = errors_by_load(comparisons)
    if args.json:
        for row in errors:
            print_json(flags.errors_event(app, row))
    else:
        console().print(f"[bold]The twin of {app} against {args.data.name}[/bold]: mean absolute errors")
        console().print(flags.error_table((row.os, row) for row in errors))
    return 0


def _profiles(args: argparse.Namespace, cells: list[Cell], systems: list[str]) -> tuple[str, dict[str, _core.Profile]]:
    """What to call the application, and the profile of every operating system in the data."""
    from bayop.twin.profile_library import load_profile, profile_names

    if args.profile is not None:
        flags.check_one_system(cells, args.profile)
        return args.app or args.data.stem, {systems[0]: load_profile(args.profile)}
    app = args.app or flags.app_of(args.data)
    for system in systems:
        if f"{system}-{app}" not in profile_names():
            hint = f"say --profile; built-in profiles: {', '.join(profile_names())}"
            raise InputError(
                wrong=f"there is no profile for {system}-{app}, which was measured", value=f"{system}-{app}", hint=hint
            )
    return app, {system: load_profile(f"{system}-{app}") for system in systems}
