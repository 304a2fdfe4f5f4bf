"""`bayop libos run`: the library OS in the foreground, for `bayop load` in another terminal."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Final

from bayop.cli.flags import arguments
from bayop.cli.libos.sources import open_sources
from bayop.cli.terminal.output import console, literal, print_json
from bayop.errors import InputError, UnsupportedError

if TYPE_CHECKING:
    from bayop.experiments.rig.veth import Namespace
    from lab.libos import LibraryOs

NICS: Final = ("virtio-net", "e1000e")
EXAMPLE: Final = """\
  bayop libos run
  bayop libos run app=hello wait=poll
  bayop libos run app=tpcc --json
  bayop libos run --nic e1000e delay=1000     # interrupts at least 1 ms apart
  bayop libos run cores=2 app=tpcc            # as root: clients are in a network namespace
  bayop libos run udp=on                      # memcached takes datagrams, too
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
    from lab.libos import LibraryOs, cores_of

    words = " ".join(args.words)
    with _clients() if cores_of(words) > 1 else nullcontext() as clients:
        inside = [] if clients is None else clients.command([])
        with LibraryOs(words, nic=args.nic, inside=inside) as machine:
            if args.json:
                service = machine.service
                found = {"name": service.name, "server": machine.address(service.port), "protocol": service.protocol}
                agent = {} if machine.agent is None else {"agent": machine.agent}
                udp = {} if machine.udp is None else {"udp": machine.udp}
                netns = {} if clients is None else {"netns": clients.path}
                print_json({"event": "listening", **found, **udp, **agent, **netns})
            else:
                _print(machine, inside)
            machine.wait()
        raise LabError(wrong=f"the machine has ended; its last line: {machine.console.splitlines()[-1]}")


@contextmanager
def _clients() -> Iterator[Namespace]:
    """Where clients of several cores are: QEMU's own network has one pair of queues only."""
    from bayop.experiments.rig.veth import Namespace, missing

    reason = missing()
    if reason is not None:
        raise UnsupportedError(wrong=f"several cores need a tap device, and there can be none: {reason}")
    namespace = Namespace()
    try:
        yield namespace
    finally:
        namespace.close()


def _print(machine: LibraryOs, inside: Sequence[str]) -> None:
    service, screen = machine.service, console()
    address = machine.address(service.port)
    screen.print(literal(machine.console.strip()))
    screen.print(literal(f"{service.name} listens on {address}; Ctrl-C ends the machine."))
    if machine.udp is not None:
        screen.print(literal(f"it takes datagrams (UDP) on {machine.udp}"))
    if machine.agent is not None:
        screen.print(literal(f"its agent is {machine.agent}"))
    load = [*inside, "bayop", "load", "-s", address, *service.load.split(), "--closed-loop", "-c", "8"]
    screen.print(literal(shlex.join(load)), style="dim", soft_wrap=True)
