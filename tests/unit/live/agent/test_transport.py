"""What can go wrong on the way to an agent, with real sockets; the agent's own answers are tested end to end."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.support.stallers import WAYS, staller

from bayop.errors import BayopError, DriftError, InputError, UnsupportedError
from bayop.live.agent.address import Credentials, HttpsAddress, UnixAddress
from bayop.live.agent.transport import ConflictError, Transport, UnreachableError

# In a process of its own: a user is the whole process', and other tests' threads go on in this one.
ASK_AS_ANOTHER_USER = """
import os, sys
from bayop.live.agent.address import UnixAddress
from bayop.live.agent.transport import Transport, UnreachableError
os.setuid(65534)
try:
    Transport(UnixAddress(sys.argv[1])).request("GET", "/v1/status", dict)
except UnreachableError as error:
    print(error.message, error.hint)
"""


@contextmanager
def answering(path: Path, reply: bytes | None) -> Iterator[Transport]:
    """A server on a Unix socket that sends the same bytes to everyone; None keeps silent."""
    over = threading.Event()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                if reply is None:
                    over.wait()
                else:
                    connection.sendall(reply)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield Transport(UnixAddress(str(path)))
        finally:
            over.set()
            thread.join()


def http(status: int, body: str) -> bytes:
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


def test_an_answer_is_decoded(tmp_path: Path) -> None:
    with answering(tmp_path / "s", http(200, '{"mode": "apply"}')) as agent:
        assert agent.request("GET", "/v1/status", dict) == {"mode": "apply"}


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("input", InputError),
        ("not_found", InputError),
        ("too_large", InputError),
        ("forbidden", UnsupportedError),
        ("unsupported", UnsupportedError),
        ("conflict", ConflictError),
        ("drift", DriftError),
        ("failed", BayopError),
    ],
)
def test_a_refusal_is_the_error_of_its_kind_with_all_its_parts(
    tmp_path: Path, kind: str, error: type[BayopError]
) -> None:
    body = (
        f'{{"error": {{"kind": "{kind}", "wrong": "W", "rule": "it must", "value": "V", "place": "P", "hint": "H"}}}}'
    )
    with answering(tmp_path / "s", http(400, body)) as agent, pytest.raises(error) as caught:
        agent.request("GET", "/v1/status", dict)
    assert type(caught.value) is error
    assert (caught.value.message, caught.value.hint) == ("W; it must (P)", "H")


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", "the agent can't be reached"),
        (b"", "the agent hung up before it had answered"),
        (http(200, "<html>"), "what answers is no bayop-agent"),
        (http(500, "oops"), "what answers is no bayop-agent"),
        (http(400, '{"error": "no"}'), "what answers is no bayop-agent"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n", "what answers is no bayop-agent"),
        (http(400, '{"error": {"kind": "new", "rule": "R"}}'), "what answers is no bayop-agent"),
    ],
)
def test_what_is_no_agent_is_told_apart(tmp_path: Path, reply: bytes, said: str) -> None:
    with answering(tmp_path / "s", reply) as agent, pytest.raises(UnreachableError, match=said) as caught:
        agent.request("GET", "/v1/status", dict)
    assert caught.value.exit_code == 4


def test_silence_ends(tmp_path: Path) -> None:
    with answering(tmp_path / "s", None) as agent, pytest.raises(UnreachableError, match=r"within 0\.2 s"):
        agent.request("GET", "/v1/status", dict, timeout_s=0.2)


@pytest.mark.parametrize("way", WAYS)
def test_an_agent_that_stalls_is_not_waited_for(tmp_path: Path, way: str) -> None:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(tmp_path / "s"))
    listener.listen()
    with staller(listener) as agent:
        agent.way = way
        started = time.monotonic()
        with pytest.raises(UnreachableError, match=r"within 0\.3 s"):
            Transport(UnixAddress(agent.url)).request("GET", "/v1/status", dict, timeout_s=0.3)
        assert time.monotonic() - started < 2.0


def test_no_socket_and_nobody_behind_it(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with pytest.raises(UnreachableError) as caught:
        Transport(UnixAddress(str(path))).request("GET", "/v1/status", dict)
    assert "systemctl start bayop-agent" in str(caught.value.hint)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
    with pytest.raises(UnreachableError, match="no agent listens at unix:"):
        Transport(UnixAddress(str(path))).request("GET", "/v1/status", dict)


@pytest.mark.needs("root")  # to become another user
def test_a_user_who_may_not_connect_learns_how_to() -> None:
    with TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        Path(folder).chmod(0o755)
        path = Path(folder, "s")
        listener.bind(str(path))
        listener.listen()
        path.chmod(0o600)
        ask = [sys.executable, "-c", ASK_AS_ANOTHER_USER, str(path)]
        said = subprocess.run(ask, capture_output=True, text=True, check=True).stdout
    assert "this user may not talk to the agent" in said
    assert "usermod -aG bayop" in said


def test_https_needs_credentials_and_a_socket_none(tmp_path: Path) -> None:
    credentials = Credentials(tmp_path / "c", tmp_path / "k", tmp_path / "a")
    with pytest.raises(InputError, match="with mutual TLS"):
        Transport(HttpsAddress("web1", 1))
    with pytest.raises(InputError, match="by its group"):
        Transport(UnixAddress("/s"), credentials)
    with pytest.raises(InputError, match=r"cannot read .*c: no such file"):
        Transport(HttpsAddress("web1", 1), credentials)
    for file in (credentials.certificate, credentials.key, credentials.ca):
        file.write_text("nothing")
    with pytest.raises(InputError, match="must hold PEM certificates"):
        Transport(HttpsAddress("web1", 1), credentials)
