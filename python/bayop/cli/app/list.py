"""`bayop app list`: the applications that there are, and which of them are installed here."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from bayop.cli.flags import arguments
from bayop.cli.flags.applications import add_applications
from bayop.cli.terminal.output import console, literal, new_table, print_json

if TYPE_CHECKING:
    from bayop.applications.definition import Application

EXAMPLE: Final = """\
  bayop app list
  bayop app list --applications mine --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    add_applications(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Lists them.

    Raises:
        InputError: a definition is wrong, or the folder can't be read.
    """
    from bayop.applications.definition import application_names, find_application
    from bayop.applications.packages import program_path

    names = application_names(args.applications)
    rows = [(found, program_path(found)) for found in (find_application(name, args.applications) for name in names)]
    if args.json:
        for application, path in rows:
            print_json(_event(application, path))
    else:
        _print(rows)
    return 0


def _event(application: Application, path: str | None) -> dict[str, object]:
    live = application.live
    return {
        "event": "application",
        "name": application.name,
        "program": application.start[0],
        "path": path,
        "packages": {registry: list(names) for registry, names in application.packages.items()},
        "protocol": application.protocol,
        "port": application.port,
        "licence": application.licence,
        "prepares": bool(application.prepare),
        "ready": list(application.ready),
        "ready_within_s": application.ready_within_s,
        "load": dict(application.load),
        "knobs": dict(application.knobs),
        "live": None if live is None else {**asdict(live), "slo": str(live.slo)},
    }


def _print(rows: Sequence[tuple[Application, str | None]]) -> None:
    caption = "bayop app install NAME brings its packages; bayop app start NAME starts it"
    table = new_table(caption if rows else "none: an application is DIR/NAME/app.toml", drop=["licence", "packages"])
    table.add_column("application", no_wrap=True)
    table.add_column("installed", overflow="fold")
    table.add_column("packages", overflow="fold")
    table.add_column("protocol", no_wrap=True)
    table.add_column("port", justify="right")
    table.add_column("licence", overflow="fold")
    for application, path in rows:
        cells = (application.name, path or "no", " ".join(application.package_names), application.protocol)
        table.add_row(*map(literal, (*cells, str(application.port), application.licence)))
    console().print(table)
