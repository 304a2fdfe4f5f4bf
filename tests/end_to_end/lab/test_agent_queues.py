"""Receive queues of a network card that spreads by an indirection table: parked, and the table put back as it was."""

from __future__ import annotations

import os
import re
import socket
import struct
import subprocess
import time
from collections.abc import Iterator

import pytest
from tests.end_to_end.lab.conftest import require_lab
from tests.end_to_end.lab.lab_agent import JOURNAL, LabAgent, denials
from tests.support.needs import need

from lab import Files, Machine
from lab.agent import Access

pytestmark = pytest.mark.slow

KNOB = "nic.combined_queues@eth1"
ENTRIES = 128
UP = "modprobe virtio_net && ip link set eth1 up"
FLOWS = 200


@pytest.fixture(scope="module")
def tap() -> str:
    """The host's end of the card."""
    need("root", "ip")
    return f"bayop{os.getpid()}"


@pytest.fixture(scope="module")
def booted(contents: tuple[Files, Access], tap: str) -> Iterator[Machine]:
    """A machine with such a card."""
    require_lab()
    with Machine(files=contents[0], tap=tap) as machine:
        machine.run(UP)
        subprocess.run(["ip", "link", "set", tap, "up"], check=True)
        yield machine


@pytest.fixture
def queued(booted: Machine, contents: tuple[Files, Access]) -> Iterator[LabAgent]:
    """Its agent, which runs and holds nothing; its AppArmor profile denies it nothing."""
    agent = LabAgent(booted, contents[1])
    agent.ensure_running()
    yield agent
    agent.ensure_running()
    assert agent.status()["held"] == []
    assert denials(booted) == []


def table(machine: Machine) -> list[int]:
    """The queue of each entry, by ethtool."""
    rows = re.findall(r"^ *\d+:((?: +\d+)+)$", machine.run("ethtool -x eth1").stdout, re.MULTILINE)
    return [int(queue) for row in rows for queue in row.split()]


def hash_key(machine: Machine) -> str:
    return machine.run("ethtool -x eth1").stdout.partition("hash key:")[2]


def interrupts(machine: Machine) -> list[int]:
    """How many each receive queue has raised."""
    rows = re.findall(r"^ *\d+:((?: +\d+)+) .* virtio\d+-input\.\d+$", machine.read("/proc/interrupts"), re.MULTILINE)
    return [sum(map(int, row.split())) for row in rows]


def raised(machine: Machine, tap: str) -> list[int]:
    """How many interrupts each receive queue raises for packets of many flows."""
    before = interrupts(machine)
    to = bytes.fromhex(machine.read("/sys/class/net/eth1/address").replace(":", ""))
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as nic:
        nic.bind((tap, 0))
        for flow in range(FLOWS):
            nic.send(to + bytes.fromhex("0200000000010800") + udp(10_000 + flow))
            time.sleep(0.001)
    time.sleep(0.5)
    return [now - then for now, then in zip(interrupts(machine), before, strict=True)]


def udp(port: int) -> bytes:
    """An empty datagram from that port; the guest has no such address, and drops it."""
    addresses = socket.inet_aton("10.0.3.2") + socket.inet_aton("10.0.3.15")
    head = struct.pack("!BBHHHBBH", 0x45, 0, 28, 0, 0, 64, socket.IPPROTO_UDP, 0) + addresses
    total = sum(struct.unpack("!10H", head))
    checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    return head[:10] + struct.pack("!H", checksum) + head[12:] + struct.pack("!HHHH", port, 9, 8, 0)


def test_packets_go_to_the_queues_in_use_alone(booted: Machine, queued: LabAgent, tap: str) -> None:
    original, key = table(booted), hash_key(booted)
    assert original == [0, 1] * (ENTRIES // 2)
    lease = queued.hold({KNOB: 1})
    assert table(booted) == [0] * ENTRIES
    first, second = raised(booted, tap)
    assert first > FLOWS / 10
    assert second == 0, "a parked queue has an interrupt"
    (change,) = queued.apply(lease, {KNOB: 2})["changes"]
    assert (change["effective"], table(booted)) == (2, original)
    shares = raised(booted, tap)
    assert min(shares) > FLOWS / 10, shares
    print("interrupts by queue: 1 in use", [first, second], "and 2", shares)
    assert "1 to 2" in queued.apply(lease, {KNOB: 3})["error"]["rule"]
    assert queued.post("/v1/release", {"lease": lease})["restored"] == [KNOB]
    assert (table(booted), hash_key(booted)) == (original, key)


@pytest.mark.parametrize("found", ["weight 100 28", "start 1 equal 1", "weight 1 2"])
def test_after_a_kill_the_table_is_as_it_was_found(booted: Machine, queued: LabAgent, found: str) -> None:
    """Such as no number of queues gives, set by somebody else before."""
    booted.run(f"ethtool -X eth1 {found}")
    original = booted.run("ethtool -x eth1").stdout
    lease = queued.hold({KNOB: 1})
    queued.apply(lease, {KNOB: 2})
    assert booted.run("ethtool -x eth1").stdout != original
    queued.end("KILL")
    restored = booted.run("bayop-agent restore").stdout
    assert "eth1" in restored
    assert booted.run(f"ethtool -x eth1; test ! -e {JOURNAL}").stdout == original
    queued.ensure_running()
    booted.run("ethtool -X eth1 default")
