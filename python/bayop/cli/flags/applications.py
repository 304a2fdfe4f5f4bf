"""Arguments that name an application: those of `bayop app` and of `bayop live`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from bayop.cli.flags import arguments
from bayop.errors import InputError

if TYPE_CHECKING:
    from bayop.applications.definition import Application


def add_applications(parser: argparse.ArgumentParser) -> None:
    """`--applications`."""
    parser.add_argument(
        "--applications",
        type=arguments.reader(arguments.path, "--applications"),
        metavar="DIR",
        help="where NAME/app.toml is (default: those that come with bayop)",
    )


def add_application(parser: argparse.ArgumentParser) -> None:
    """`NAME` and `--applications`."""
    parser.add_argument("app", metavar="NAME", help="the application, such as nginx")
    add_applications(parser)


def application_of(args: argparse.Namespace, place: str = "NAME") -> Application:
    """The application that is named.

    Args:
        args: With `app` and `applications`.
        place: The argument that names it.

    Raises:
        InputError: there is none of that name, or its definition is wrong.
    """
    from bayop.applications.definition import find_application

    try:
        return find_application(args.app, args.applications)
    except InputError as error:
        raise error.at(place) from error
