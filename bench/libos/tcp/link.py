"""A link between Linux and the library OS that loses, repeats and delays frames, as netem does where a kernel has it.

    python -m bench.libos.tcp.link FOLDER

Linux has a tap device on it, in the network namespace where this runs, and QEMU a socket in FOLDER
(`lab.libos.LibraryOs`, `frames`). It says `ready` once both can send.
"""

from __future__ import annotations

import argparse
import fcntl
import heapq
import itertools
import os
import random
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lab.libos import HOST_ADDRESS, LINK_SOCKET, MACHINE_SOCKET

DEVICE: Final = "link0"
SOURCES: Final = (HOST_ADDRESS, *(f"10.208.0.{number}" for number in range(10, 18)))
"""Linux's addresses: a connection that it has closed keeps its port for a minute, and each has 28,000."""

_LATEST_S: Final = 0.002
_FRAME_BYTES: Final = 2048
# linux/if_tun.h
_TUNSETIFF: Final = 0x400454CA
_IFF_TAP: Final = 0x0002
_IFF_NO_PI: Final = 0x1000


@dataclass(frozen=True)
class Trouble:
    """Shares of the frames, in both directions, that are treated badly.

    Args:
        lost: Never come.
        repeated: Come twice.
        late: Come up to 2 ms later than they would, and others in front of them.
    """

    lost: float
    repeated: float
    late: float

    def delays_s(self, chance: random.Random) -> Iterator[float]:
        """By how much each copy of a frame comes later; none of one that is lost."""
        for _ in range(2 if chance.random() < self.repeated else 1):
            if chance.random() >= self.lost:
                yield _LATEST_S * chance.random() if chance.random() < self.late else 0.0


def main(argv: Sequence[str] | None = None) -> int:
    """Carries frames until it is killed."""
    flags = argparse.ArgumentParser(
        prog="python -m bench.libos.tcp.link",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    flags.add_argument("folder", type=Path, metavar="FOLDER", help="where the sockets are")
    for name in ("lost", "repeated", "late"):
        flags.add_argument(f"--{name}", type=float, default=0.0, metavar="SHARE", help="of the frames (default: none)")
    flags.add_argument("--seed", type=int, default=0, metavar="N", help="of chance (default: 0)")
    args = flags.parse_args(argv)
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, _TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), _IFF_TAP | _IFF_NO_PI))
    for source in SOURCES:
        subprocess.run(["ip", "address", "add", f"{source}/24", "dev", DEVICE], check=True)
    subprocess.run(["ip", "link", "set", DEVICE, "up"], check=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as machine:
        machine.bind(str(args.folder / LINK_SOCKET))
        print("ready", flush=True)
        carry(tap, machine, args.folder / MACHINE_SOCKET, Trouble(args.lost, args.repeated, args.late), args.seed)
    return 0


def carry(tap: int, machine: socket.socket, path: Path, trouble: Trouble, seed: int) -> None:
    """Carries frames from the one side to the other, for ever."""
    chance = random.Random(seed)
    waiting: list[tuple[float, int, Callable[[bytes], object], bytes]] = []
    numbers = itertools.count()

    def to_machine(frame: bytes) -> None:
        # Before the machine is up and once it is gone, nobody is there to take it.
        try:
            machine.sendto(frame, str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            return

    def from_machine(size: int) -> bytes:
        return machine.recv(size, socket.MSG_DONTWAIT)

    ways: dict[int, tuple[Callable[[int], bytes], Callable[[bytes], object]]] = {
        tap: (lambda size: os.read(tap, size), to_machine),
        machine.fileno(): (from_machine, lambda frame: os.write(tap, frame)),
    }
    poll = select.poll()
    for descriptor in ways:
        poll.register(descriptor, select.POLLIN)
    while True:
        wait_s = max(0.0, waiting[0][0] - time.monotonic()) if waiting else 1.0
        for descriptor, _ in poll.poll(1000.0 * wait_s):
            receive, send = ways[descriptor]
            try:
                frame = receive(_FRAME_BYTES)
            except BlockingIOError:
                continue
            for delay_s in trouble.delays_s(chance):
                heapq.heappush(waiting, (time.monotonic() + delay_s, next(numbers), send, frame))
        while waiting and waiting[0][0] <= time.monotonic():
            *_, send, frame = heapq.heappop(waiting)
            send(frame)


if __name__ == "__main__":
    sys.exit(main())
