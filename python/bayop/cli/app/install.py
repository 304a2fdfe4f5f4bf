"""`bayop app install`: the Debian packages of an application, after a question."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Final

from bayop.cli.flags import arguments
from bayop.cli.flags.applications import add_application, application_of
from bayop.cli.terminal import exit_codes
from bayop.cli.terminal.asking import is_agreed
from bayop.cli.terminal.output import console, literal, print_json
from bayop.errors import InputError

EXAMPLE: Final = """\
  bayop app install nginx
  bayop app install redis --yes
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    add_application(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask; for scripts")
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Installs what is missing; 1 when the answer was no.

    Raises:
        BayopError: the installation has failed.
        InputError: there is none of that name, or nobody is there to be asked.
        UnsupportedError: this user or machine can't install.
    """
    from bayop.applications.packages import install, program_path, would_bring

    application = application_of(args)
    brought: Sequence[str] = ()
    services: Sequence[str] = ()
    if program_path(application) is None:
        brought = would_bring(application)
        sys.stderr.write(
            f"{application.name} ({application.licence}) brings {len(brought)} package{'s' * (len(brought) != 1)}: "
            f"{' '.join(brought)}\nServices that come with them are neither started nor enabled.\n"
        )
        if not args.yes and not _is_wanted():
            sys.stderr.write("nothing was installed\n")
            return exit_codes.NO_GOOD
        services = install(application)
    path = program_path(application)
    if args.json:
        event = {"event": "installed", "name": application.name, "path": path}
        print_json({**event, "brought": list(brought), "disabled": list(services)})
    else:
        _print(application.name, str(path), was_there=not brought, services=services)
    return exit_codes.DONE


def _is_wanted() -> bool:
    nobody = InputError("an installation must be agreed to", wrong="nobody is there to be asked", hint="add --yes")
    return is_agreed("Install them?", nobody=nobody)


def _print(name: str, path: str, *, was_there: bool, services: Sequence[str]) -> None:
    screen = console()
    screen.print(literal(f"{name} is installed{' already' if was_there else ''}: {path}"))
    for service in services:
        screen.print(literal(f"{service} is off; systemctl enable --now {service} has it serve beside bayop"))
