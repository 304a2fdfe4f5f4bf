"""TPC-C on the library OS, through the network."""

from __future__ import annotations

import socket
import struct

import pytest
from tests.support.servers import load, result_of

from lab.libos import LibraryOs

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("libos_image")]

HEADER = struct.Struct(">BBHBBHIIQ")


def statistics(address: str, key: str = "") -> dict[str, int]:
    """What a STAT of memcached's binary protocol says."""
    host, port = address.split(":")
    said: dict[str, int] = {}
    with socket.create_connection((host, int(port)), timeout=30) as client, client.makefile("rb") as answers:
        client.sendall(HEADER.pack(0x80, 0x10, len(key), 0, 0, 0, len(key), 0, 0) + key.encode())
        while True:
            _, _, key_bytes, _, _, status, body_bytes, _, _ = HEADER.unpack(answers.read(HEADER.size))
            assert status == 0
            if not body_bytes:
                return said
            body = answers.read(body_bytes).decode()
            said[body[:key_bytes]] = int(body[key_bytes:])


def test_each_request_is_a_transaction_and_the_database_stays_consistent() -> None:
    with LibraryOs("app=tpcc") as machine:
        address = machine.address(11311)
        run = load("-s", address, "--binary", "--noload", "-q", "500", "-t", "3s", "-w", "0s", "--json")
        counts = result_of(run)["counts"]
        assert counts["answered"] == counts["intended"] > 1000, run.stderr
        said = statistics(address)
        kinds = {name: said.pop(name) for name in ("new_order", "payment", "order_status", "delivery", "stock_level")}
        assert sum(kinds.values()) == counts["answered"]
        # Clause 5.2.3: 45, 43, 4, 4, 4 %.
        assert min(kinds["new_order"], kinds["payment"]) > sum(kinds.values()) / 3
        assert min(kinds.values()) > 0
        assert said.pop("rolled_back") < kinds["new_order"] / 20
        assert said == {"conflicts": 0}
        assert statistics(address, "consistency") == {"violations": 0}
        assert machine.is_up, machine.console
