"""Who gets in at the socket, and what a peer can do that is hostile, dead, or one of many."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.patience import eventually
from tests.unit.cli.test_operator import HOLDS

from bayop.daemon.operator.client import ask
from bayop.daemon.operator.listener import listening
from bayop.daemon.operator.wire import MOST_BYTES, send, socket_of
from bayop.errors import DriftError, InputError, UnsupportedError


def done(verb: str) -> list[dict[str, object]]:
    """An answer, which says what it answers."""
    return [{**HOLDS, "service": verb}]


class Said:
    """What was said, each with its answer."""

    def __init__(self) -> None:
        self.messages: list[Mapping[str, Any]] = []
        self.by: set[str] = set()
        self.goes_on = threading.Event()

    def answer(self, message: Mapping[str, Any], by: str) -> list[dict[str, object]]:
        self.messages.append(message)
        self.by.add(by)
        match message["verb"]:
            case "wait":
                self.goes_on.wait(10)
            case "refuse":
                raise DriftError("it must be so", wrong="it is not", value=3, place="there", hint="do that")
            case "break":
                raise ZeroDivisionError("by zero")
        return done(message["verb"])


@pytest.fixture
def state() -> Iterator[Path]:
    """A state in a folder that everybody may look into."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder) / "bayop.db"


@pytest.fixture
def said(state: Path) -> Iterator[Said]:
    said = Said()
    with listening(socket_of(state), said.answer):
        yield said
        said.goes_on.set()


def test_a_word_is_heard_with_who_said_it(state: Path, said: Said) -> None:
    assert ask(state, "pause", service="web") == done("pause")
    assert said.messages == [{"verb": "pause", "service": "web"}]
    assert f"uid {os.geteuid()}" in said.by.pop()


def test_an_error_is_the_same_at_the_other_end(state: Path, said: Said) -> None:  # noqa: ARG001 -- it listens
    with pytest.raises(DriftError, match="it is not; it must be so") as caught:
        ask(state, "refuse")
    error = caught.value
    assert (error.rule, error.wrong, error.value, error.place, error.hint) == (
        "it must be so",
        "it is not",
        "3",
        "there",
        "do that",
    )
    with pytest.raises(Exception, match="ZeroDivisionError: by zero"):
        ask(state, "break")
    assert ask(state, "pause")


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"\xff\xfe\x00\n",
        b"[]\n",
        b'"pause"\n',
        b"{" * 5000 + b"\n",
        b"[" * 100_000 + b"\n",
        b'{"verb": NaN, \n',
        b'{"verb": "pause"',
        b" " * (MOST_BYTES + 10),
    ],
    ids=lambda line: repr(line[:12]),
)
def test_bytes_that_are_no_message_do_nothing(state: Path, said: Said, line: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(str(socket_of(state)))
        peer.settimeout(10)
        try:
            peer.sendall(line)
            peer.shutdown(socket.SHUT_WR)
        except BrokenPipeError:
            pass
        assert b"a message must be one line of JSON" in peer.recv(4096)
    assert said.messages == []
    assert ask(state, "pause")


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"events": 5},
        {"events": [5]},
        {"events": [{}]},
        {"events": [{**HOLDS, "event": "reloaded"}]},
        {"events": [{**HOLDS, "paused_by": 7}]},
        {"events": [{**HOLDS, "setting": {"power.cap_w": None}}]},
        {"events": [{**HOLDS, "saved": {"power_w": 3}}]},
        {"error": 5},
        {"error": {}},
        {"error": {"kind": "input"}},
        {"error": {"kind": "input", "wrong": ["it"]}},
    ],
    ids=str,
)
def test_what_is_no_answer_of_this_version_is_said_to_be_none(state: Path, answer: dict[str, object]) -> None:
    """A `bayop run` that goes on while another version is installed, say."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(socket_of(state)))
        listener.listen()
        said: list[Exception] = []

        def hear() -> None:
            try:
                ask(state, "status")
            except Exception as error:  # which it is, is what is asked
                said.append(error)

        asking = threading.Thread(target=hear)
        asking.start()
        connection, _ = listener.accept()
        with connection, connection.makefile("rwb") as stream:
            stream.readline()
            send(stream, answer)
        asking.join(10)
    (error,) = said
    assert isinstance(error, UnsupportedError)
    assert "is no bayop run of this version" in error.message
    assert error.hint == "restart it"


def test_peers_that_are_silent_or_gone_keep_nobody_waiting(state: Path, said: Said) -> None:
    peers = [socket.socket(socket.AF_UNIX) for _ in range(12)]
    for number, peer in enumerate(peers):
        peer.connect(str(socket_of(state)))
        peer.sendall(b'{"verb": "pause"' if number % 2 else b"")
        if number % 3 == 0:
            peer.close()
    assert ask(state, "status") == done("status")
    with socket.socket(socket.AF_UNIX) as gone:
        gone.connect(str(socket_of(state)))
        gone.sendall(b'{"verb": "wait"}\n')
        assert eventually(lambda: {"verb": "wait"} in said.messages, within_s=5)
    said.goes_on.set()
    assert ask(state, "status"), "it has nobody to answer, and goes on"
    for peer in peers:
        peer.close()


def test_two_are_heard_at_once(state: Path, said: Said) -> None:
    answers: list[object] = []
    first = threading.Thread(target=lambda: answers.append(ask(state, "wait")))
    first.start()
    assert eventually(lambda: {"verb": "wait"} in said.messages, within_s=5)
    assert ask(state, "pause"), "while the first one waits"
    assert answers == []
    said.goes_on.set()
    first.join(5)
    assert answers == [done("wait")]


def test_what_a_killed_process_has_left_is_replaced_and_nothing_else_is(state: Path) -> None:
    path = socket_of(state)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    with pytest.raises(UnsupportedError, match="no bayop run answers at"):
        ask(state, "status")
    with listening(path, Said().answer):
        assert ask(state, "status")
    assert not path.exists()
    path.write_text("a diary")
    with pytest.raises(InputError, match="cannot listen at"), listening(path, Said().answer):
        pass
    assert path.read_text() == "a diary"
    with pytest.raises(InputError, match="cannot listen at"), listening(path.parent / ("x" * 120), Said().answer):
        pass


def test_at_its_end_it_leaves_another_one_s_socket(state: Path) -> None:
    path = socket_of(state)
    with listening(path, Said().answer):
        path.unlink()
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(path))
    assert path.is_socket()


AS_SOMEBODY_ELSE = """
import os, socket, sys
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
with socket.socket(socket.AF_UNIX) as peer:
    peer.connect(sys.argv[1])
    peer.sendall(b'{"verb": "pause"}\\n')
    print(peer.makefile().read())
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_user_is_kept_out_by_the_socket_s_mode_and_by_who_they_are(state: Path, said: Said) -> None:
    path = socket_of(state)
    words = [sys.executable, "-I", "-S", "-c", AS_SOMEBODY_ELSE, str(path)]

    def other() -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, capture_output=True, text=True, check=False)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "PermissionError" in other().stderr
    path.chmod(0o666)
    assert "an operator must be root, or the user that runs bayop run" in other().stdout
    assert said.messages == []
