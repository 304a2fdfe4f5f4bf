"""Segments that no socket sends: made by hand, and looked at where they pass by."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from bench.libos.tcp.link import DEVICE

FIN: Final = 1
SYN: Final = 2
RST: Final = 4
ACK: Final = 16

FORGERS_MAC: Final = bytes.fromhex("020000000099")
"""Where the library OS sends what answers forged addresses: to nobody."""

_SEQUENCES: Final = 1 << 32
_WAIT_S: Final = 5.0
_WATCHED_BYTES: Final = 4 << 20
_ETHERNET: Final = struct.Struct("!6s6sH")
_IP: Final = struct.Struct("!BBHHHBBH4s4s")
_TCP: Final = struct.Struct("!HHIIBBHHH")
# linux/if_ether.h
_ETH_P_ALL: Final = 0x0003
_ETH_P_IP: Final = 0x0800

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Segment:
    """What is said of a connection, without data.

    Args:
        source: Who sends it.
        destination: To whom.
        sequence: Its number.
        acknowledgment: The number that its sender expects.
        flags: `SYN` and the like.
        length: How many numbers it takes.
    """

    source: Address
    destination: Address
    sequence: int
    acknowledgment: int = 0
    flags: int = ACK
    length: int = 0

    @property
    def next(self) -> int:
        """The number behind it."""
        return (self.sequence + self.length) % _SEQUENCES

    def frame(self, mac: bytes) -> bytes:
        """It as a frame to a station, from `FORGERS_MAC`."""
        ends = socket.inet_aton(self.source[0]), socket.inet_aton(self.destination[0])
        ports = self.source[1], self.destination[1]
        numbers = self.sequence % _SEQUENCES, self.acknowledgment % _SEQUENCES

        def tcp(checksum: int) -> bytes:
            return _TCP.pack(*ports, *numbers, 5 << 4, self.flags, 0xFFFF, checksum, 0)

        def ip(checksum: int) -> bytes:
            return _IP.pack(0x45, 0, _IP.size + _TCP.size, 0, 0, 64, socket.IPPROTO_TCP, checksum, *ends)

        pseudo = b"".join(ends) + struct.pack("!HH", socket.IPPROTO_TCP, _TCP.size)
        header = _ETHERNET.pack(mac, FORGERS_MAC, _ETH_P_IP)
        return header + ip(_checksum(ip(0))) + tcp(_checksum(pseudo + tcp(0)))


def _checksum(words: bytes) -> int:
    total: int = sum(struct.unpack(f"!{len(words) // 2}H", words))
    total = (total & 0xFFFF) + (total >> 16)
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF


def segment(frame: bytes) -> Segment | None:
    """What a frame says; None where it is no segment of TCP."""
    if len(frame) < _ETHERNET.size + _IP.size + _TCP.size or _ETHERNET.unpack_from(frame)[2] != _ETH_P_IP:
        return None
    packet = frame[_ETHERNET.size :]
    version, _, packet_bytes, *_, protocol, _, source, destination = _IP.unpack_from(packet)
    head_bytes = 4 * (version & 15)
    if protocol != socket.IPPROTO_TCP:
        return None
    *ports, sequence, acknowledgment, offset, flags, _, _, _ = _TCP.unpack_from(packet, head_bytes)
    return Segment(
        (socket.inet_ntoa(source), ports[0]),
        (socket.inet_ntoa(destination), ports[1]),
        sequence,
        acknowledgment,
        flags,
        packet_bytes - head_bytes - 4 * (offset >> 4) + bool(flags & SYN) + bool(flags & FIN),
    )


def station(address: Address) -> bytes:
    """The station of somebody on the link who accepts connections.

    Raises:
        OSError: They don't.
    """
    socket.create_connection(address, timeout=_WAIT_S).close()
    known = Path("/proc/self/net/arp").read_text(encoding="ascii").splitlines()
    found = {line.split()[0]: line.split()[3] for line in known[1:]}
    return bytes.fromhex(found[address[0]].replace(":", ""))


class Wire:
    """The link: every segment that passes by from now on, and those that are put there.

    Args:
        peer: To whom forged ones go.
    """

    def __init__(self, peer: Address) -> None:
        self._mac = station(peer)
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _WATCHED_BYTES)
        self._socket.bind((DEVICE, _ETH_P_ALL))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, forged: Segment) -> None:
        """Puts a segment on it."""
        self._socket.send(forged.frame(self._mac))

    def passed(self) -> list[Segment]:
        """What has passed by and was not looked at."""
        seen: list[Segment] = []
        while True:
            try:
                found = segment(self._socket.recv(_WATCHED_BYTES, socket.MSG_DONTWAIT))
            except BlockingIOError:
                return seen
            seen += [found] if found else []

    def awaited(self, is_it: Callable[[Segment], bool]) -> Segment:
        """The next one of a kind.

        Raises:
            TimeoutError: None comes.
        """
        end_s = time.monotonic() + _WAIT_S
        while time.monotonic() < end_s:
            for found in self.passed():
                if is_it(found):
                    return found
            time.sleep(0.001)
        raise TimeoutError("a segment that should pass by does not")
