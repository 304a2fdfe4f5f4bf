"""`bayop libos run`: the library OS in the foreground, for `bayop load` in another terminal."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from bayop.cli.flags import arguments
from bayop.cli.libos.sources import open_sources
from bayop.cli.terminal.output import console, literal, print_json
from bayop.errors import InputError

if TYPE_CHECKING:
    from lab.libos import LibraryOs

NICS: Final = ("virtio-net", "e1000e")
EXAMPLE: Final = """\
  bayop libos run
  bayop libos run app=hello wait=poll
  bayop libos run app=tpcc --json
  bayop libos run --nic e1000e delay=1000     # interrupts at least 1 ms apart
  bayop libos run --nic e1000e agent=on       # with the agent's API, for bayop tune
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument(
        "words",
        nargs="*",
        metavar="WORD",
        help="what it is told, such as app=memcached (or hello, echo, tpcc), wait=interrupt, memory=64 (docs/libos.md)",
    )
    parser.add_argument(
        "--nic",
        choices=NICS,
        default=NICS[0],
        help="its NIC; interrupts of an e1000e can be delayed, by delay= in us (default: %(default)s)",
    )
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Boots it, says where it serves, and waits; the machine ends of itself by a fault alone.

    Raises:
        InputError: A word is unknown.
        LabError: It does not start, or has ended.
        UnsupportedError: It is not built, or there is no QEMU.
    """
    open_sources()
    for word in args.words:
        if word.startswith("ip="):
            raise InputError("the address must be left to it: QEMU forwards what comes to 127.0.0.1", value=word)
    from lab.errors import LabError
    from lab.libos import LibraryOs

    with LibraryOs(" ".join(args.words), nic=args.nic) as machine:
        if args.json:
            service = machine.service
            found = {"name": service.name, "server": machine.address(service.port), "protocol": service.protocol}
            agent = {} if machine.agent is None else {"agent": machine.agent}
            print_json({"event": "listening", **found, **agent})
        else:
            _print(machine)
        machine.wait()
        raise LabError(wrong=f"the machine has ended; its last line: {machine.console.splitlines()[-1]}")


def _print(machine: LibraryOs) -> None:
    service, screen = machine.service, console()
    address = machine.address(service.port)
    screen.print(literal(machine.console.strip()))
    screen.print(literal(f"{service.name} listens on {address}; Ctrl-C ends the machine."))
    if machine.agent is not None:
        screen.print(literal(f"its agent is {machine.agent}"))
    screen.print(literal(f"bayop load -s {address} {service.load} -q 1kqps -c 8"), style="dim")
