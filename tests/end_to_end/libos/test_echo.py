"""The library OS as NetPIPE's other side, through the network."""

from __future__ import annotations

import random
import socket
import threading

import pytest
from tests.support.servers import load, result_of

from lab.libos import NICS, LibraryOs

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("libos_image")]


@pytest.mark.parametrize("nic", NICS)
def test_whatever_is_sent_comes_back(nic: str) -> None:
    """32 MiB, which is more than all buffers hold, of which nothing is read at first."""
    sent = random.Random(7).randbytes(32 << 20)
    with LibraryOs("app=echo", nic=nic) as machine:
        host, port = machine.address(7).split(":")
        with socket.create_connection((host, int(port)), timeout=30) as client, client.makefile("rb") as back:
            sender = threading.Thread(target=client.sendall, args=(sent,))
            sender.start()
            sender.join(0.5)
            assert sender.is_alive()
            assert back.read(len(sent)) == sent
            sender.join()
        assert machine.is_up, machine.console


@pytest.mark.parametrize("message", ["1", "8192", "100000"])
def test_a_message_bounces(message: str) -> None:
    with LibraryOs("app=echo") as machine:
        address = machine.address(7)
        flags = ["--protocol", "echo", "--closed-loop", "--message-size", message, "-t", "1s", "-w", "0.1s", "--json"]
        result = result_of(load("-s", address, *flags))
    assert result["counts"]["answered"] > 50
    assert not result["troubles"]
