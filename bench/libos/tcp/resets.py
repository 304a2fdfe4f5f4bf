"""Resets in every state of a connection to the library OS's memcached: forged ones end none, that of its client does.

    python -m bench.libos.tcp.resets HOST:PORT

It runs in the network namespace of the link, says each state when it is through, and fails when a forged reset has
ended a connection, in the receive window or outside of it (RFC 5961, section 3), or when its client's has not. Linux's
sockets bring connections to their states and reset them; that of SYN-RECEIVED is made of frames, as Linux has none.
"""

from __future__ import annotations

import socket
import struct
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Final, Self

from bench.libos.tcp.flags import flags_of, parse_address
from bench.libos.tcp.frames import ACK, RST, SYN, Address, Segment, Wire

_TIMEOUT_S: Final = 10.0
_RECEIVE_BYTES: Final = 4096
"""A client's room for what it does not read, so that the rest stays with the server."""
_FORGED: Final = (1, 1000, 60_000, -1, -1000, 1 << 20, 1 << 31)
"""How far forged numbers are from the right one: within the window of 128 KiB, in front of it, behind it."""
_NOBODY: Final = ("10.208.0.99", 40_000)
_FIRST: Final = 1_000_000
_SMALL_BYTES: Final = 40_000
_LARGE_BYTES: Final = 100_000
"""Of values: so long an answer leaves a server that serves on, or is so long that it does not."""


def main(argv: Sequence[str] | None = None) -> int:
    """Goes through all states."""
    flags = flags_of("bench.libos.tcp.resets", __doc__)
    flags.add_argument("address", type=parse_address, metavar="HOST:PORT")
    address = flags.parse_args(argv).address
    with Control(address) as control, Wire(address) as wire:
        control.store("small", _SMALL_BYTES)
        control.store("large", _LARGE_BYTES)
        refuse_half_open(address, wire)
        print("SYN-RECEIVED")
        for state, bring in STATES.items():
            reset(address, control, wire, state, bring)
            print(state)
    return 0


class Control:
    """A connection that asks how many there are.

    Args:
        address: Of a memcached.
    """

    def __init__(self, address: Address) -> None:
        self._socket = socket.create_connection(address, timeout=_TIMEOUT_S)
        self._answers = self._socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._answers.close()
        self._socket.close()

    def store(self, key: str, length: int) -> None:
        """Stores a value.

        Raises:
            OSError: It is not taken.
        """
        self._socket.sendall(b"set %s 0 0 %d\r\n%s\r\n" % (key.encode(), length, b"x" * length))
        if self._answers.readline() != b"STORED\r\n":
            raise OSError(f"{key} is not stored")

    def connections(self) -> int:
        """How many connections there are, when all was served that came before."""
        self._socket.sendall(b"stats\r\n")
        said = dict(line.split()[1:] for line in iter(self._answers.readline, b"END\r\n"))
        return int(said[b"curr_connections"])

    def await_connections(self, number: int, state: str) -> None:
        """Waits until there are so many.

        Raises:
            TimeoutError: There are not.
        """
        end_s = time.monotonic() + _TIMEOUT_S
        while (found := self.connections()) != number:
            if time.monotonic() > end_s:
                raise TimeoutError(f"there are {found} connections and not {number}: {state}")
            time.sleep(0.01)


def refuse_half_open(address: Address, wire: Wire) -> None:
    """Resets a connection whose handshake is not over.

    Raises:
        OSError: A forged reset has ended it, or the right one has not.
    """
    syn = Segment(_NOBODY, address, _FIRST, flags=SYN, length=1)
    wire.send(syn)
    first = wire.awaited(lambda seen: seen.destination == _NOBODY and seen.flags == SYN | ACK)
    for distance in _FORGED:
        wire.send(Segment(_NOBODY, address, syn.next + distance, flags=RST))
    wire.send(syn)
    again = wire.awaited(lambda seen: seen.destination == _NOBODY and seen.flags == SYN | ACK)
    if again.sequence != first.sequence:
        raise OSError("a forged reset has ended a connection in SYN-RECEIVED")
    wire.send(Segment(_NOBODY, address, syn.next, flags=RST))
    wire.send(Segment(_NOBODY, address, syn.next, first.next))
    wire.awaited(lambda seen: seen.destination == _NOBODY and seen.flags == RST and seen.sequence == first.next)


def reset(address: Address, control: Control, wire: Wire, state: str, bring: Callable[[socket.socket], None]) -> None:
    """Resets a connection in a state to which its client brings it.

    Raises:
        OSError: A forged reset has ended it, or the right one has not.
    """
    before = control.connections()
    with closing(socket.socket()) as client:
        client.settimeout(_TIMEOUT_S)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BYTES)
        client.connect(address)
        ours = client.getsockname()
        bring(client)
        control.await_connections(before + 1, state)
        number = [seen.next for seen in wire.passed() if seen.source == ours][-1]
        is_gone_here = client.fileno() == -1
        # The library OS asks back who sends one within the window. Where Linux has forgotten the connection, that is
        # whom it resets.
        for distance in _FORGED[3:] if is_gone_here else _FORGED:
            wire.send(Segment(ours, address, number + distance, flags=RST))
        if control.connections() != before + 1:
            raise OSError(f"a forged reset has ended a connection in {state}")
        if is_gone_here:
            wire.send(Segment(ours, address, number + _FORGED[0], flags=RST))
        else:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    control.await_connections(before, state)


def _establish(client: socket.socket) -> None:
    client.sendall(b"version\r\n")
    client.recv(100)


def _leave(client: socket.socket) -> None:
    client.sendall(b"quit\r\n")
    client.recv(1)


def _leave_both(client: socket.socket) -> None:
    _leave(client)
    client.close()


def _ask_and_leave(client: socket.socket) -> None:
    client.sendall(b"get small\r\nquit\r\n")


def _ask_and_leave_both(client: socket.socket) -> None:
    _ask_and_leave(client)
    client.shutdown(socket.SHUT_WR)


def _ask_and_end(client: socket.socket) -> None:
    client.sendall(b"get small\r\n")
    client.shutdown(socket.SHUT_WR)


def _ask_much_and_end(client: socket.socket) -> None:
    client.sendall(b"get large\r\n")
    client.shutdown(socket.SHUT_WR)


STATES: Final[dict[str, Callable[[socket.socket], None]]] = {
    "ESTABLISHED": _establish,
    "FIN-WAIT-1": _ask_and_leave,
    "FIN-WAIT-2": _leave,
    "CLOSING": _ask_and_leave_both,
    "CLOSE-WAIT": _ask_much_and_end,
    "LAST-ACK": _ask_and_end,
    "TIME-WAIT": _leave_both,
}
"""What a client does to bring the server there; where it leaves something unread, the server can't send its FIN."""


if __name__ == "__main__":
    sys.exit(main())
