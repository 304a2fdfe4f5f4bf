from __future__ import annotations

import socket
import struct
import time

import pytest

from bayop.errors import InputError
from bayop.load.datagrams import DatagramSender

pytestmark = pytest.mark.alone

_SO_TIMESTAMPNS = 35  # asm-generic/socket.h; Python has no name for it


def test_datagrams_arrive_at_the_pace_that_was_asked_for() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(5.0)
        receiver.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        with DatagramSender("127.0.0.1", receiver.getsockname()[1], 200.0):
            arrived_s = [arrival_s(receiver) for _ in range(41)]
    # A busy machine may be late, but it never sends a burst to make up for it.
    assert arrived_s[-1] - arrived_s[0] > 0.9 * 40 / 200.0


def arrival_s(receiver: socket.socket) -> float:
    """When the kernel got the next datagram, however late this process is to take it: a `timespec`, see socket(7)."""
    _, ((_, _, stamp),), _, _ = receiver.recvmsg(100, socket.CMSG_SPACE(16))
    seconds, nanoseconds = struct.unpack("@ll", stamp)
    return float(seconds + 1e-9 * nanoseconds)


def test_nobody_needs_to_listen() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
    with DatagramSender("127.0.0.1", port, 1000.0) as sender:
        time.sleep(0.05)
        assert sender._thread.is_alive()


def test_a_receiver_without_an_address_is_refused() -> None:
    with pytest.raises(InputError, match=r"nowhere\.invalid has no address"):
        DatagramSender("nowhere.invalid", 9, 1.0)
