from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.servers import free_port

from bayop.errors import InputError
from bayop.load.wire import PORT, Channel, PeerError, keep_alive, split

NUMBER = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
SCALAR = st.none() | st.booleans() | NUMBER | st.text(max_size=9)
MESSAGE = st.dictionaries(
    st.text(max_size=5).filter(lambda key: key != "error"), SCALAR | st.lists(SCALAR, max_size=3), max_size=3
)


@contextmanager
def channel() -> Iterator[tuple[Channel, socket.socket]]:
    """A channel to `web1`, and the socket at its other end."""
    mine, theirs = socket.socketpair()
    with Channel(mine, "web1") as here, theirs:
        yield here, theirs


def test_its_end_closes_the_connection() -> None:
    mine, theirs = socket.socketpair()
    with theirs:
        with Channel(mine, "web1"):
            pass
        assert mine.fileno() == -1
        assert theirs.recv(1) == b""


@given(st.lists(MESSAGE, min_size=1, max_size=3))
@settings(max_examples=30)
def test_messages_arrive_as_they_were_sent_one_by_one(messages: list[dict[str, Any]]) -> None:
    mine, theirs = socket.socketpair()
    with Channel(mine, "here") as here, Channel(theirs, "there") as there:
        for message in messages:
            here.send(message)
        assert [there.receive(1.0) for _ in messages] == messages
        assert not there.has_message()


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (b"GET / HTTP/1.1\r\n", "cannot read 'GET / HTTP/1.1\\r\\n': expecting value: line 1"),
        (b"\xff\xfe\n", "the other side must send messages"),
        (b"[1]\n", "cannot read '[1]\\n': that is a list; the other side must send messages (web1)"),
        (b'{"error": "no core is free"}\n', "the peer can't run its part: no core is free (web1)"),
        (
            b'{"error": "\\u001b[31mRED\\u009b\\nno good: forged \\u00e4"}\n',
            "the peer can't run its part: \\x1b[31mRED\\x9b\\nno good: forged \u00e4 (web1)",
        ),
        (b"", "the other side has hung up (web1)"),
        (b'{"half": ', "cannot read '{\"half\": ': expecting value"),
    ],
)
def test_anything_else_is_refused(sent: bytes, message: str) -> None:
    with channel() as (here, there):
        there.sendall(sent)
        there.shutdown(socket.SHUT_WR)
        with pytest.raises(PeerError) as caught:
            here.receive(1.0)
    assert message in caught.value.message
    assert (caught.value.place, caught.value.exit_code) == ("web1", 1)


def test_silence_ends() -> None:
    started = time.monotonic()
    with channel() as (here, _), pytest.raises(PeerError, match="the other side did not answer in time: timed out"):
        here.receive(0.05)
    assert time.monotonic() - started < 5.0


def test_a_side_that_drips_is_not_waited_for() -> None:
    started = time.monotonic()
    with channel() as (here, there):
        over = threading.Event()

        def drip() -> None:
            with suppress(OSError):
                while not over.wait(0.02):
                    there.sendall(b" ")

        thread = threading.Thread(target=drip)
        thread.start()
        with pytest.raises(PeerError, match=r"timed out after 0\.2 s"):
            here.receive(0.2)
        over.set()
        thread.join()
    assert time.monotonic() - started < 5.0


def test_the_kernel_finds_out_that_the_other_side_is_lost() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as here:
        keep_alive(here)
        assert here.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        first, then, times, unheard_ms = (
            here.getsockopt(socket.IPPROTO_TCP, option)
            for option in (
                socket.TCP_KEEPIDLE,
                socket.TCP_KEEPINTVL,
                socket.TCP_KEEPCNT,
                socket.TCP_USER_TIMEOUT,
            )
        )
        assert first + then * times == unheard_ms / 1000 == 60


def test_nobody_is_there_to_read() -> None:
    with channel() as (here, there):
        there.close()
        with pytest.raises(PeerError, match="the other side has gone: broken pipe"):
            here.send({"go": True})


def test_a_word_or_an_end_is_something_to_look_at() -> None:
    with channel() as (here, there):
        assert not here.has_message()
        there.sendall(b'{"stop": true}\n')
        assert here.has_message()
        assert here.receive(1.0) == {"stop": True}
        assert not here.has_message()
        there.close()
        assert here.has_message()


def test_a_peer_is_called_at_its_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with Channel.connect(address) as here:
            assert here.peer == address
            here.send({"hello": True})
            connection, _ = listener.accept()
            with connection:
                assert connection.recv(100) == b'{"hello": true}\n'


def test_where_no_peer_is_it_says_how_to_start_one() -> None:
    address = f"127.0.0.1:{free_port()}"
    with pytest.raises(PeerError, match=rf"^no peer answers: connection refused \({address}\)$") as caught:
        Channel.connect(address)
    assert caught.value.hint == f"start it there: bayop load --agent --listen {address}"


def test_a_peer_whose_name_nobody_knows() -> None:
    with pytest.raises(PeerError, match=r"^no peer answers: [^\[\]]* \(nosuch\.invalid\)$") as caught:
        Channel.connect("nosuch.invalid")
    assert "unknown error" not in caught.value.message


@pytest.mark.parametrize(
    ("address", "host", "port"), [("web1", "web1", PORT), ("web1:1", "web1", 1), ("10.0.0.1:65535", "10.0.0.1", 65535)]
)
def test_an_address_has_a_port_of_its_own_or_ours(address: str, host: str, port: int) -> None:
    assert split(address) == (host, port)


@pytest.mark.parametrize("address", ["::1", "fe80::1:7300", "web1:", "web1:0", "web1:65536", "web1:-1", "web1:ssh"])
def test_an_address_has_one_colon_and_behind_it_a_port_that_exists(address: str) -> None:
    with pytest.raises(
        InputError, match="a peer must be HOST or HOST:PORT, and HOST a name or an IPv4 address"
    ) as caught:
        split(address)
    assert caught.value.value == address
