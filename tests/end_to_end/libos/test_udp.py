"""Datagrams to memcached on the library OS, beside Debian's, and to ports that take none."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.support.needs import need
from tests.support.servers import free_port, memcached_on

from bayop.experiments.rig.veth import Namespace
from lab.libos import TAP_ADDRESS, LibraryOs

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("libos_image")]

HEADER = struct.Struct(">HHHH")
SILENCE_S = 0.3
REQUESTS = (
    b"get none\r\n",
    b"set a 5 0 3\r\nabc\r\n",
    b"get a\r\n",
    b"set a 0 0 3 noreply\r\nxyz\r\nget a\r\n",
    b"incr a 1\r\n",
    b"touch none 0\r\n",
    b"nonsense\r\n",
    b"get a",
    b"\x80\x01\x00\x01\x08\x00\x00\x00\x00\x00\x00\x0a" + bytes(12 + 8) + b"bv",
    b"\x80\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01" + bytes(12) + b"b",
    b"\x80\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01" + bytes(12) + b"n",
    b"\x80\x04\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01" + bytes(12) + b"b",
    b"\x80\x04\x00",
)
"""Each is answered by one message at most, also by 1.6, which makes one of each item and each answer."""


@pytest.fixture(scope="module")
def udp_os() -> Iterator[LibraryOs]:
    with LibraryOs("udp=on memory=16") as machine:
        yield machine
        assert machine.is_up, machine.console


def client(address: str | None) -> socket.socket:
    assert address is not None
    host, port = address.split(":")
    asker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    asker.settimeout(20)
    asker.connect((host, int(port)))
    return asker


def message(asker: socket.socket, number: int) -> bytes:
    """What a server says to a request of this number: the pieces of one message, in whatever order they come."""
    pieces: dict[int, bytes] = {}
    total = 1
    while len(pieces) < total:
        datagram = asker.recv(2000)
        came, sequence, total, reserved = HEADER.unpack_from(datagram)
        assert (came, reserved) == (number, 0)
        assert len(datagram) == 1400 or sequence == total - 1
        pieces[sequence] = datagram[HEADER.size :]
    return b"".join(pieces[sequence] for sequence in range(total))


def ask(asker: socket.socket, request: bytes, *, number: int = 7) -> bytes:
    asker.send(HEADER.pack(number, 0, 1, 0) + request)
    return message(asker, number)


@pytest.mark.needs("memcached")
def test_it_answers_datagrams_as_debians_does(udp_os: LibraryOs) -> None:
    def answers(address: str | None) -> list[bytes]:
        said = []
        with client(address) as asker:
            for number, request in enumerate(REQUESTS):
                asker.send(HEADER.pack(number, 0, 1, 0) + request)
                asker.settimeout(SILENCE_S)
                try:
                    said.append(message(asker, number)[:16])  # of a packet, what is before its unique number
                except TimeoutError:
                    said.append(b"")
        return said

    port = free_port()
    with memcached_on(port, "-U", str(port)):
        theirs = answers(f"127.0.0.1:{port}")
    assert answers(udp_os.udp) == theirs


def test_what_a_datagram_stores_a_connection_gets_and_the_other_way_round(udp_os: LibraryOs) -> None:
    host, port = udp_os.address(11211).split(":")
    value = b"v" * 20_000
    with client(udp_os.udp) as asker, socket.create_connection((host, int(port)), timeout=20) as connection:
        assert ask(asker, b"set d 1 0 3\r\nabc\r\n") == b"STORED\r\n"
        connection.sendall(b"get d\r\nset c 2 0 %d\r\n%s\r\n" % (len(value), value))
        expected = b"VALUE d 1 3\r\nabc\r\nEND\r\nSTORED\r\n"
        assert connection.makefile("rb").read(len(expected)) == expected
        whole = b"VALUE c 2 20000\r\n%s\r\nEND\r\n" % value
        assert ask(asker, b"get c\r\n") == whole
        assert ask(asker, b"get d c\r\nversion\r\n").startswith(b"VALUE d 1 3\r\nabc\r\n" + whole + b"VERSION ")


def test_what_is_no_request_is_dropped(udp_os: LibraryOs) -> None:
    with client(udp_os.udp) as asker:
        some_of_several = [HEADER.pack(1, 0, count, 0) + b"version\r\n" for count in (0, 2, 257)]
        for wrong in (b"", b"1234567", HEADER.pack(1, 0, 1, 0), *some_of_several):
            asker.send(wrong)
        assert ask(asker, b"get nothing\r\n", number=9) == b"END\r\n"


ASKED = """
import socket, sys
stored = b"set v 0 0 1000\\r\\n" + b"v" * 1000 + b"\\r\\n"
for request in (stored, *[b"get v v\\r\\n"] * 20):
    asker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    asker.settimeout(20)
    asker.connect((sys.argv[1], int(sys.argv[2])))
    asker.send(bytes([0, 7, 0, 0, 0, 1, 0, 0]) + request)
    try:
        pieces = [asker.recv(2000)]
        while len(pieces) < pieces[0][5]:
            pieces.append(asker.recv(2000))
    except ConnectionRefusedError:
        sys.exit("refused")
    lens = sorted(map(len, pieces))
    assert lens == ([16] if request is stored else [657, 1400]), lens
"""
"""A value is stored, and then asked for from many ports."""


@pytest.mark.needs("namespaces")
@pytest.mark.parametrize("words", ["udp=on", "udp=on cores=2", "udp=on --nic e1000e", ""])
def test_through_a_tap_device_which_completes_checksums_and_tells_who_asks_in_vain(words: str) -> None:
    need("ip")
    words, _, nic = words.partition(" --nic ")
    namespace = Namespace()

    def fault(port: int) -> str:
        command = namespace.command([sys.executable, "-c", ASKED, TAP_ADDRESS, str(port)])
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stderr.strip()

    try:
        with LibraryOs(words, nic=nic or "virtio-net", inside=namespace.command([])) as machine:
            assert fault(11211) == ("" if words else "refused")
            assert fault(11212) == "refused"
            assert machine.is_up, machine.console
    finally:
        namespace.close()
