from __future__ import annotations

import socket
import time

import pytest

from bayop.errors import InputError
from bayop.load.datagrams import DatagramSender, next_due_s

pytestmark = pytest.mark.alone


def test_datagrams_never_run_ahead_of_the_pace_that_was_asked_for() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(5.0)
        began_s = time.monotonic()
        with DatagramSender("127.0.0.1", receiver.getsockname()[1], 200.0):
            for _ in range(41):
                receiver.recv(100)
        # From before the first one on: a busy machine may be late at either end, never early.
        assert time.monotonic() - began_s > 40 / 200.0


def test_whoever_falls_behind_does_not_catch_up_in_a_burst() -> None:
    interval_s, late_s = 0.25, 9.0
    assert next_due_s(1.0, 1.25, interval_s) == 1.25
    due_s = next_due_s(1.0, late_s, interval_s)
    sent_at_once = 0
    while due_s + interval_s <= late_s:
        due_s = next_due_s(due_s, late_s, interval_s)
        sent_at_once += 1
    assert sent_at_once == 1


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
