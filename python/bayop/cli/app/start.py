"""`bayop app start`: an application in the foreground, for `bayop load` or `bayop tune` in another terminal."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bayop.cli.flags import arguments
from bayop.cli.flags.applications import add_application, application_of
from bayop.cli.terminal.output import console, literal, print_json

if TYPE_CHECKING:
    from bayop.applications.serve import Service

EXAMPLE: Final = """\
  bayop app start nginx
  bayop app start redis --port 6400 --cpus 0
  bayop app start lighttpd --applications mine
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    add_application(parser)
    parser.add_argument(
        "--port",
        type=arguments.reader(arguments.whole_number(1, 65535), "--port"),
        metavar="P",
        help="where it listens on 127.0.0.1 (default: the port in its definition)",
    )
    parser.add_argument(
        "--cpus",
        type=arguments.reader(arguments.cpus, "--cpus"),
        metavar="LIST",
        help="where it runs, such as 0,2-3, so that a load generator may have the others (default: on all)",
    )
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Starts it, says where it listens, and waits; what it says itself goes to stderr.

    Raises:
        BayopError: it has ended by itself.
        InputError: there is none of that name, or the port is taken.
        UnsupportedError: it is not installed, or does not listen.
    """
    from bayop.applications.serve import Service

    application = application_of(args)
    if args.port is not None:
        application = replace(application, port=args.port)
    with Service(application, said=2, cpus=args.cpus) as service:
        if args.json:
            print_json(_event(service))
        else:
            _print(service)
        raise service.wait()


def _event(service: Service) -> dict[str, object]:
    application = service.application
    event: dict[str, object] = {
        "event": "listening",
        "name": application.name,
        "server": service.address,
        "protocol": application.protocol,
    }
    return event if service.scope is None else {**event, "cgroup": str(service.scope.path)}


def _print(service: Service) -> None:
    application, screen = service.application, console()
    screen.print(literal(f"{application.name} listens on {service.address}; Ctrl-C ends it."))
    if service.scope is not None:
        screen.print(literal(f"What it takes is counted in {service.scope.path}."))
    # An open loop would drown an application that answers ten requests a second.
    words = ["bayop", "load", "-s", service.address, *application.load_flags, "--closed-loop", "-c", "8"]
    screen.print(literal(shlex.join(words)), style="dim", soft_wrap=True)
