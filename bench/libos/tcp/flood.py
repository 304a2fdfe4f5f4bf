"""SYNs to the library OS from as many addresses, all of them forged, as fast as its machine takes them.

    python -m bench.libos.tcp.flood HOST:PORT FOLDER --seconds 10

It runs in the network namespace of the link, whose sockets are in FOLDER, and says how many it has sent.
"""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.libos.tcp.flags import flags_of, parse_address
from bench.libos.tcp.frames import SYN, Address, Segment, station

from lab.libos import MACHINE_SOCKET

_PORTS: Final = 1 << 14
_FIRST_PORT: Final = 1 << 15


def main(argv: Sequence[str] | None = None) -> int:
    """Floods."""
    flags = flags_of("bench.libos.tcp.flood", __doc__)
    flags.add_argument("address", type=parse_address, metavar="HOST:PORT")
    flags.add_argument("folder", type=Path, metavar="FOLDER", help="where the sockets are")
    flags.add_argument("--seconds", type=float, default=1.0, metavar="N", help="how long (default: 1)")
    args = flags.parse_args(argv)
    address = args.address
    mac = station(address)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as machine:
        machine.connect(str(args.folder / MACHINE_SOCKET))
        end_s = time.monotonic() + args.seconds
        number = 0
        while time.monotonic() < end_s:
            machine.send(syn(address, number).frame(mac))  # it waits while the machine has others to take
            number += 1
    print(number)
    return 0


def syn(address: Address, number: int) -> Segment:
    """One of a flood, from an address that nobody has."""
    source = f"10.209.{number >> 8 & 255}.{number & 255}", _FIRST_PORT + (number >> 16) % _PORTS
    return Segment(source, address, sequence=number * 0x9E3779B1, flags=SYN, length=1)


if __name__ == "__main__":
    sys.exit(main())
