from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.channel import Channel, ChannelClosedError
from lab.errors import LabError

Answer = Callable[[dict[str, object]], bytes]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[Answer], Channel]]:
    """A server that answers each request with the bytes of a function; hangs up on b""."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "socket"))
    listener.listen()
    channels: list[Channel] = []

    def start(answer: Answer) -> Channel:
        def work() -> None:
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as lines:
                for line in lines:
                    reply = answer(json.loads(line))
                    if not reply:
                        return
                    for start in range(0, len(reply), 7):  # in pieces, as sockets may
                        connection.sendall(reply[start : start + 7])

        threading.Thread(target=work, daemon=True).start()
        channels.append(Channel(tmp_path / "socket"))
        return channels[-1]

    yield start
    for channel in channels:
        channel.close()
    listener.close()


def reply(**members: object) -> bytes:
    return json.dumps(members).encode() + b"\n"


def test_a_command_returns_what_the_other_end_returned(serve: Callable[[Answer], Channel]) -> None:
    channel = serve(lambda request: reply(**{"return": request["arguments"], "id": request["id"]}))
    assert [channel.execute("echo", {"n": n}) for n in range(3)] == [{"n": 0}, {"n": 1}, {"n": 2}]


def test_greetings_and_events_are_passed_over(serve: Callable[[Answer], Channel]) -> None:
    channel = serve(lambda r: reply(QMP={}) + reply(event="STOP") + reply(**{"return": 1, "id": r["id"]}))
    assert channel.execute("query") == 1


def test_a_refusal_is_an_error_with_its_reason(serve: Callable[[Answer], Channel]) -> None:
    channel = serve(lambda request: reply(error={"desc": "no such command"}, id=request["id"]))
    with pytest.raises(LabError, match="fly: no such command"):
        channel.execute("fly")


def test_an_answer_that_comes_too_late_is_not_taken_for_the_next_one(serve: Callable[[Answer], Channel]) -> None:
    late: list[bytes] = []

    def answer(request: dict[str, object]) -> bytes:
        late.append(reply(**{"return": request["execute"], "id": request["id"]}))
        return b"".join(late) if request["execute"] == "second" else reply(event="nothing yet")

    channel = serve(answer)
    with pytest.raises(LabError, match="the machine did not answer first in time"):
        channel.execute("first", timeout_s=0.1)
    assert channel.execute("second") == "second"


def test_a_machine_that_ended_is_an_error(serve: Callable[[Answer], Channel]) -> None:
    channel = serve(lambda _: b"")
    with pytest.raises(ChannelClosedError):
        channel.execute("guest-ping")
