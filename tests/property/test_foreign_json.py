"""Whatever a command, a server or a file says in place of JSON, it is read or refused with a BayopError, never else."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bayop.errors import BayopError, InputError
from bayop.experiments.day.record import read_day
from bayop.interrupts.layout import Layout
from bayop.json_text import DEEPEST, parse_object
from bayop.latency.base import Window
from bayop.latency.command import LatencyCommand
from bayop.latency.probe_program import read_probe
from bayop.latency.prometheus import PrometheusQuery
from bayop.live.agent.address import UnixAddress
from bayop.live.agent.client import AgentClient
from bayop.live.agent.transport import Transport
from bayop.load.wire import Channel
from bayop.slo import Slo
from bayop.study.journal import Journal

# Each is JSON to Python's reader, or kills it.
ODD = (
    "[" * 100_000,
    '{"a":' * 100_000,
    '{"p99_us": ' + "[" * 900 + "]" * 900 + "}",
    "9" * 400,
    "9" * 5000,
    "-1e999",
    "NaN",
    "-Infinity",
    '"\\ud800"',
    '{"\\udfff": 1}',
    "\ufeff{}",
    "null",
    "",
)
_NAMES = (
    "vantage p99_us qps relative_sd requests status data resultType result value error kind wrong rule place hint "
    "readings lease mode held knobs study trial started_at runs maps windows searches weight"
)
NAMES = st.sampled_from(_NAMES.split())
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(["client", "success", "vector", "input", "it must", 10**400, "1e999", "nan"])
)  # fmt: skip
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=6), max_leaves=12
)
TEXTS = st.one_of(st.text(max_size=40), st.sampled_from(ODD), VALUES.map(json.dumps))
BYTES = st.one_of(TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")), st.binary(max_size=40))
SLO = Slo(0.99, 500.0)


def in_each_place(text: str) -> list[str]:
    """A text, and answers that are right but for the place where it stands."""
    return [
        text,
        f'{{"vantage": "client", "p99_us": {text}}}',
        f'{{"vantage": "probe", "p99_us": 3, "relative_sd": {text}}}',
        f'{{"status": "success", "data": {{"resultType": "vector", "result": [{{"value": [1, {text}]}}]}}}}',
        f'{{"error": {{"kind": "input", "wrong": "W", "rule": null, "value": {text}, "place": null, "hint": null}}}}',
        f'{{"readings": [{text}]}}',
        f'{{"study": "s", "trial": {text}}}',
        f'{{"runs": [{text}], "maps": []}}',
    ]


def read_or_refuse(read: Callable[..., object], *arguments: object, **named: object) -> None:
    """Every exception but ours is a bug and passes through; and what is refused can be printed."""
    try:
        read(*arguments, **named)
    except BayopError as error:
        json.dumps(error.to_json(), allow_nan=False, ensure_ascii=False).encode()


@given(BYTES | TEXTS)
def test_json_is_an_object_that_can_be_computed_with_and_written_or_an_input_error(text: str | bytes) -> None:
    with suppress(InputError):
        assert json.dumps(parse_object(text), allow_nan=False, ensure_ascii=False).encode()


@pytest.mark.parametrize("text", ODD)
def test_each_oddity_is_refused_with_its_rule_place_and_hint(text: str) -> None:
    with pytest.raises(InputError, match="; it must fit") as caught:
        parse_object(f'{{"a": {text}}}' if text != "null" else text, rule="it must fit", place="there", hint="do")
    assert caught.value.message.startswith("cannot read ")
    assert (caught.value.place, caught.value.hint) == ("there", "do")


def test_what_stands_as_deep_as_it_may_is_read() -> None:
    levels = DEEPEST - 1
    assert parse_object('{"a": ' + "[" * levels + "]" * levels + "}")
    with pytest.raises(InputError, match="deep in each other"):
        parse_object('{"a": ' + "[" * DEEPEST + "]" * DEEPEST + "}")


@given(TEXTS)
@example('{"vantage": "client", "p99_us": 1, "p\u0663_us": 2}')
def test_what_a_command_or_a_probe_prints_is_a_latency_or_refused(text: str) -> None:
    command = LatencyCommand("p99")
    for printed in in_each_place(text):
        read_or_refuse(command.read, printed)
        read_or_refuse(read_probe, printed, place="a probe", hint="a longer window")


@given(TEXTS)
def test_what_a_file_holds_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    study = tmp_path_factory.getbasetemp() / "odd.parquet"
    for written in in_each_place(text):
        study.with_name("odd.parquet.journal").write_bytes(written.encode("utf-8", "surrogatepass") + b"\n")
        read_or_refuse(take_up, study)
        read_or_refuse(Layout.from_json, written)
        study.with_name("data.json").write_bytes(written.encode("utf-8", "surrogatepass"))
        read_or_refuse(read_day, study.with_name("data.json"))


def take_up(study: Path) -> None:
    with Journal(study):
        pass


class Replies:
    """A server on a Unix socket and on TCP that says what a test wants, after whatever it was asked."""

    def __init__(self, folder: Path) -> None:
        self.reply = b""
        self.path = folder / "s"
        self._unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._unix.bind(str(self.path))
        self._unix.listen()
        self._tcp = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._tcp.getsockname()[1]}"
        for listener in (self._unix, self._tcp):
            threading.Thread(target=self._serve, args=(listener,), daemon=True).start()

    def close(self) -> None:
        for listener in (self._unix, self._tcp):
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def _serve(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection, suppress(OSError):
                    asked = b""
                    while b"\r\n\r\n" not in asked:
                        asked += connection.recv(65536)
                    connection.sendall(self.reply)


@pytest.fixture(scope="module")
def replies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replies]:
    replies = Replies(tmp_path_factory.mktemp("replies"))
    yield replies
    replies.close()


def http(status: int, body: bytes) -> bytes:
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(BYTES, st.sampled_from([200, 302, 400, 401, 503]))
def test_what_a_server_answers_is_read_or_refused(replies: Replies, body: bytes, status: int) -> None:
    def ask_prometheus() -> object:
        source = PrometheusQuery.parse(f"{replies.url}?query=up&qps=up", slo=SLO)
        return source.measure(Window({}, 1.0), sleep=lambda _: None)

    agent = AgentClient(Transport(UnixAddress(str(replies.path))))
    asks: list[Callable[[], Any]] = [ask_prometheus, agent.status, agent.sensors, agent.knobs, agent.doctor]
    replies.reply = body
    for ask in asks:
        read_or_refuse(ask)
    for text in in_each_place(body.decode("utf-8", "surrogateescape")):
        replies.reply = http(status, text.encode("utf-8", "surrogateescape"))
        for ask in asks[:3]:
            read_or_refuse(ask)


@settings(max_examples=40)
@given(BYTES)
def test_what_the_other_side_of_a_shared_load_says_is_read_or_refused(line: bytes) -> None:
    mine, theirs = socket.socketpair()
    with Channel(mine, "web1") as here, theirs:
        theirs.sendall(line[:60_000] + b"\n")
        read_or_refuse(here.receive, 1.0)
