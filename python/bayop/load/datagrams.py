"""UDP datagrams at an even pace: traffic for a machine that has none while its NIC is calibrated."""

from __future__ import annotations

import socket
import threading
from time import perf_counter, sleep
from types import TracebackType
from typing import Self

from bayop.errors import InputError

_PAYLOAD = b"bayop"


class DatagramSender:
    """Sends from `with` until its end, in a thread.

    Evenly, one datagram at a time: bursts would make their own interrupts. The thread spins between two datagrams,
    because a sleep is longer than the distance that matters, so it takes a core of the machine that sends.

    Args:
        host: The receiver; nothing needs to listen there.
        port: Its UDP port.
        packets_per_s: How many to send.

    Raises:
        InputError: the receiver has no address.
    """

    def __init__(self, host: str, port: int, packets_per_s: float) -> None:
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        except socket.gaierror as error:
            raise InputError(wrong=f"{host} has no address", value=host, hint=error.strerror) from error
        self._socket = socket.socket(family, kind, protocol)
        self._address = address
        self._interval_s = 1.0 / packets_per_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._send, name="bayop-datagrams", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        self._socket.close()

    def _send(self) -> None:
        due = perf_counter()
        while not self._over.is_set():
            try:
                self._socket.sendto(_PAYLOAD, self._address)
            except OSError:
                # A full send queue, or an ICMP answer that nobody listens: the next one may go through.
                sleep(self._interval_s)
            due = next_due_s(due, perf_counter(), self._interval_s)
            while perf_counter() < due:
                pass


def next_due_s(due_s: float, now_s: float, interval_s: float) -> float:
    """When the next datagram is due: an interval after the last one was.

    Whoever falls behind does not catch up in a burst, so it is never due longer than an interval ago.
    """
    return max(due_s + interval_s, now_s - interval_s)
