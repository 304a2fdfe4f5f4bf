"""memcached on the library OS, through the network, beside Debian's."""

from __future__ import annotations

import re
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.support.servers import free_port, load, memcached_on, result_of

from lab.libos import LibraryOs

pytestmark = [pytest.mark.slow, pytest.mark.needs("memcached")]

CONVERSATIONS = {
    "storing": "set a 1 0 3|abc|add a 0 0 1|x|add b 4294967295 0 0||get a b c|replace c 0 0 1|x"
    "|replace a 2 0 1|y|get a",
    "joining": "append j 0 0 1|x|set j 7 0 1|b|append j 9 9 1|c|prepend j 9 9 1|a|get j",
    "uniqueness": "cas u 0 0 1 1|x|set u 0 0 1|x|cas u 0 0 1 999999999|y|get u|cas u 0 0 1 x|y|cas u 0 0 1|y",
    "numbers": "incr n 1|set n 0 0 1|9|incr n 1|decr n 1|get n|decr n 100|get n|incr n x|incr n|set n 0 0 1|x|incr n 1"
    "|set n 0 0 20|18446744073709551615|incr n 2|decr n -1|set n 0 0 0||incr n 1",
    "deleting": "delete d|set d 0 0 1|x|delete d 0|set d 0 0 1|x|delete d 1|delete d|delete|get d",
    "expiring": "set e 0 -1 1|x|get e|set e 0 0 1|x|touch e -1|get e|touch e 0|set e 0 100 1|x|gat 0 e|gats x e|gat 0"
    "|touch e|touch e x|touch none 0",
    "silence": "set s 0 0 1 noreply|x|add s 0 0 1 noreply|y|append s 0 0 1 noreply|z|get s|delete s noreply|get s"
    "|incr s 1 noreply|touch s 0 noreply|verbosity 1 noreply|get s",
    "mistakes": "|nonsense|get|gets|set|set x|set x 0 0|set x y 0 1|set x 0 y 1|set x 0 0 y|set x 0 0 -1|get x"
    "|set x 0 0 2|abc|get  x   x |verbosity|verbosity 1|delete x y z",
    "flushing": "set f 0 0 1|x|flush_all|get f|set f 0 0 1|x|flush_all 0|get f|flush_all x|flush_all noreply|get f",
    "counted words": "set c 0 0 1|1|incr c 1 1|decr c 1 x|touch c 0 0|delete c 0 0 0|flush_all 1 2 3|get c"
    "|flush_all 0 2|get c|verbosity x|verbosity 1 2|verbosity 1 2 3",
    "a key called noreply": "set noreply 0 0 1|x|delete noreply|get noreply|delete noreply noreply|delete c x noreply",
    "noreply in vain": "nonsense noreply|incr noreply|incr c 0 0 noreply|touch c 0 0 noreply|flush_all 0 0 noreply"
    "|stats x noreply|stats reset noreply|incr c noreply|verbosity x noreply|flush_all x noreply",
    "read by strtoull": f"set r 0 0 2| 1|incr r +1|set r 0 0 2|+5|decr r 1|set r 0 0 21|1{' ' * 20}|incr r 1|get r"
    "|set r 0 0 3|1 x|incr r 1|set r 0 0 3|++1|incr r 1|set r 4294967296 -0 1|x|touch r -0|get r"
    "|set r 0 99999999999 1|x|get r|set r 0 0 4294967297|x|set r 0 18446744073709551616 1|get r",
    "a long key among others": f"set l 0 0 1 noreply|x|get l {'k' * 251} l",
    "long keys": f"set {'k' * 250} 0 0 1|x|get {'k' * 250}|get {'k' * 251}",
    "a browser": "GET / HTTP/1.1|version",
    "no browser": "GET / http/1.1|get HTTP/1.1|delete HTTP/1.1|incr HTTP/1.1",
    "more words": "set w 0 0 1 a b|set w 0 0 1 a|x|get w|version x y|flush_all noreply 0|stats foo|quit now",
}
"""What a client says, its lines between bars. A key that is too long comes last: memcached 1.6.18 loses
answers after it."""


STORING, ADDING = struct.Struct(">II").pack, struct.Struct(">QQI").pack
NEVER_MADE = 0xFFFFFFFF
PACKETS: dict[str, list[tuple[int, bytes, bytes, bytes]]] = {
    "storing": [
        (0x01, STORING(5, 0), b"ba", b"abc"),
        (0x00, b"", b"ba", b""),
        (0x0C, b"", b"ba", b""),
        (0x02, STORING(0, 0), b"ba", b"x"),
        (0x03, STORING(0, 0), b"none", b"x"),
        (0x0E, b"", b"ba", b"de"),
        (0x0F, b"", b"ba", b"-"),
        (0x0E, b"", b"none", b"x"),
        (0x00, b"", b"ba", b""),
        (0x04, b"", b"ba", b""),
        (0x04, b"", b"ba", b""),
        (0x00, b"", b"ba", b""),
        (0x0C, b"", b"ba", b""),
    ],
    "numbers": [
        (0x05, ADDING(1, 7, NEVER_MADE), b"bn", b""),
        (0x05, ADDING(1, 7, 0), b"bn", b""),
        (0x05, ADDING(4, 7, 0), b"bn", b""),
        (0x06, ADDING(99, 7, 0), b"bn", b""),
        (0x00, b"", b"bn", b""),
        (0x01, STORING(0, 0), b"bn", b"x"),
        (0x05, ADDING(1, 7, 0), b"bn", b""),
        (0x01, STORING(0, 0), b"bn", b" +1 "),
        (0x05, ADDING(1, 7, 0), b"bn", b""),
    ],
    "silence": [
        (0x09, b"", b"none", b""),
        (0x11, STORING(1, 0), b"bq", b"5"),
        (0x12, STORING(1, 0), b"bq", b"6"),
        (0x15, ADDING(1, 0, 0), b"bq", b""),
        (0x0D, b"", b"bq", b""),
        (0x19, b"", b"bq", b"7"),
        (0x09, b"", b"bq", b""),
        (0x14, b"", b"bq", b""),
        (0x14, b"", b"bq", b""),
    ],
    "expiring": [
        (0x01, STORING(3, 100), b"be", b"x"),
        (0x1C, STORING(0, 50)[4:], b"be", b""),
        (0x1D, STORING(0, 50)[4:], b"be", b""),
        (0x23, STORING(0, 50)[4:], b"be", b""),
        (0x1E, STORING(0, 50)[4:], b"none", b""),
        (0x1C, STORING(0, 50)[4:], b"none", b""),
    ],
    "mistakes": [(0x55, b"", b"", b""), (0x0A, b"", b"", b""), (0x10, b"", b"nonsense", b"")],
    "wrong lengths": [(0x01, b"", b"k", b"v")],
    "long keys": [(0x01, STORING(0, 0), b"k" * 250, b"v"), (0x00, b"", b"k" * 250, b""), (0x00, b"", b"k" * 251, b"")],
}
"""Requests of the binary protocol: opcode, extras, key, value. An unknown one has no body, after which memcached 1.6.18
says nothing more."""


def packet(opcode: int, extras: bytes, key: bytes, value: bytes, *, unique: int = 0, opaque: int = 0) -> bytes:
    body = extras + key + value
    return struct.pack(">BBHBxxxIIQ", 0x80, opcode, len(key), len(extras), len(body), opaque, unique) + body


def without_unique_numbers(said: bytes) -> list[bytes]:
    """The answers; two servers need not number their items alike."""
    answers = []
    while said:
        end = 24 + int.from_bytes(said[8:12])
        answers.append(said[:16] + bytes([any(said[16:24])]) + said[24:end])
        said = said[end:]
    return answers


@pytest.fixture(scope="module")
def debians() -> Iterator[str]:
    port = free_port()
    with memcached_on(port):
        yield f"127.0.0.1:{port}"


def connect(address: str) -> socket.socket:
    host, port = address.split(":")
    return socket.create_connection((host, int(port)), timeout=20)


def conversation(address: str, question: bytes) -> bytes:
    """All that a server says until it closes, which the question has it do."""
    with connect(address) as client:
        client.sendall(question)
        answer = bytearray()
        while data := client.recv(1 << 16):
            answer += data
    return bytes(answer)


def answers(address: str, question: bytes) -> bytes:
    """All that a server says to lines."""
    return conversation(address, question + b"quit\r\n")


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_it_answers_as_debians_does(memcached_os: LibraryOs, debians: str, name: str) -> None:
    question = "".join(f"{line}\r\n" for line in CONVERSATIONS[name].split("|")).encode()
    ours, theirs = (answers(address, question).decode() for address in (memcached_os.address(11211), debians))
    assert re.sub("VERSION .*", "VERSION", ours) == re.sub("VERSION .*", "VERSION", theirs)


@pytest.mark.parametrize("name", PACKETS)
def test_it_answers_packets_as_debians_does(memcached_os: LibraryOs, debians: str, name: str) -> None:
    requests = [packet(*request, opaque=number) for number, request in enumerate(PACKETS[name])]
    question = b"".join([*requests, packet(0x07, b"", b"", b"")])
    ours, theirs = (
        without_unique_numbers(conversation(address, question)) for address in (memcached_os.address(11211), debians)
    )
    assert ours == theirs


def test_a_unique_number_is_a_condition(memcached_os: LibraryOs) -> None:
    address = memcached_os.address(11211)
    numbered = answers(address, b"set unique 0 0 1\r\nx\r\ngets unique\r\n").decode()
    (unique,) = re.findall(r"VALUE unique 0 1 (\d+)", numbered)
    question = f"cas unique 0 0 1 {unique}\r\ny\r\ncas unique 0 0 1 {unique}\r\nz\r\nget unique\r\n"
    expected = "STORED\r\nEXISTS\r\nVALUE unique 0 1\r\ny\r\nEND\r\n"
    assert answers(address, question.encode()).decode() == expected


def test_the_largest_value_goes_both_ways_and_a_larger_one_is_refused(memcached_os: LibraryOs) -> None:
    address = memcached_os.address(11211)
    value = (bytes(range(1, 255)) * 4200)[: 1 << 20]
    head = b"VALUE large 5 %d\r\n" % len(value)
    said = answers(address, b"set large 5 0 %d\r\n%s\r\nget large\r\n" % (len(value), value))
    assert said == b"STORED\r\n" + head + value + b"\r\nEND\r\n"
    said = answers(address, b"set large 5 0 %d\r\n%sx\r\nget large\r\n" % (len(value) + 1, value))
    assert said == b"SERVER_ERROR object too large for cache\r\nEND\r\n"


def test_a_client_that_reads_late_gets_every_answer(memcached_os: LibraryOs) -> None:
    address = memcached_os.address(11211)
    answers(address, b"set late 0 0 1000\r\n%s\r\n" % (b"v" * 1000))
    count = 3000
    with connect(address) as client:
        questions = threading.Thread(target=client.sendall, args=(b"get late\r\n" * count + b"quit\r\n",))
        questions.start()
        # Others are served meanwhile.
        assert answers(address, b"version\r\n").startswith(b"VERSION ")
        said = bytearray()
        while data := client.recv(1 << 16):
            said += data
        questions.join()
    assert said == (b"VALUE late 0 1000\r\n%s\r\nEND\r\n" % (b"v" * 1000)) * count


def test_memory_is_bounded_and_the_oldest_goes_first(memcached_os: LibraryOs) -> None:
    address = memcached_os.address(11211)
    value = b"v" * 10_000
    answers(address, b"".join(b"set key%d 0 0 10000 noreply\r\n%s\r\n" % (n, value) for n in range(2500)))
    stats = dict(re.findall(r"STAT (\S+) (\S+)\r\n", answers(address, b"stats\r\n").decode()))
    assert int(stats["limit_maxbytes"]) == 16 << 20
    assert 14 << 20 < int(stats["bytes"]) < 16 << 20
    assert int(stats["evictions"]) >= 900
    assert answers(address, b"get key0\r\n") == b"END\r\n"
    assert answers(address, b"get key2499\r\n").endswith(value + b"\r\nEND\r\n")


@pytest.mark.alone
@pytest.mark.usefixtures("libos_image")
def test_a_connection_too_many_is_told_so_and_makes_room_for_none() -> None:
    with LibraryOs("connections=3") as machine, ExitStack() as opened:
        host, port = machine.address(11211).split(":")

        def said(connection: socket.socket) -> bytes:
            connection.sendall(b"version\r\n")
            return connection.recv(100)

        clients = [opened.enter_context(socket.create_connection((host, int(port)), 20)) for _ in range(5)]
        answers = [said(client) for client in clients]
        assert [answer[:8] for answer in answers[:3]] == 3 * [b"VERSION "]
        assert answers[3:] == 2 * [b"ERROR Too many open connections\r\n"]
        assert clients[4].recv(1) == b""
        clients[0].sendall(b"stats\r\n")
        with clients[0].makefile("rb") as lines:
            stats = dict(line.split()[1:] for line in iter(lines.readline, b"END\r\n"))
        assert stats[b"curr_connections"] == stats[b"max_connections"] == b"3"
        assert stats[b"rejected_connections"] == b"2"


@pytest.mark.parametrize("connections", [1, 16])
def test_the_load_generator_counts_every_answer(memcached_os: LibraryOs, connections: int) -> None:
    words = f"--workload etc -q 1000 -t 3s -w 1s -c {connections} -r 2000 --json".split()
    result = result_of(load("-s", memcached_os.address(11211), *words))
    assert result["counts"]["answered"] == result["counts"]["intended"] > 2000


def test_thousands_of_connections_come_and_go(memcached_os: LibraryOs) -> None:
    address = memcached_os.address(11211)
    for _ in range(1500):
        with connect(address) as client:
            client.sendall(b"version\r\n")
            assert client.recv(100).startswith(b"VERSION ")
    stats = answers(address, b"stats\r\n").decode()
    assert int(re.findall(r"total_connections (\d+)", stats)[0]) > 1500
    assert int(re.findall(r"curr_connections (\d+)", stats)[0]) < 1500
