from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bayop.daemon.journal import Journal, datagram, fields_of, is_journal, priority_of
from bayop.daemon.report import Line
from bayop.events import EVENTS

TROUBLE = Line("web: it is broken", {"event": "trouble", "service": "web", "hint": None, "again_in_s": 4.5})
LATE = {"event": "window", "phase": "hold", "meets_slo": False, "setting": {"power.cap_w": 90}, "search": 2}
NAMES = st.from_regex(r"[A-Z][A-Z0-9_]{0,20}", fullmatch=True)


def parsed(entry: bytes) -> dict[str, str]:
    """As the protocol's page says how it is read."""
    fields = {}
    while entry:
        line, _, rest = entry.partition(b"\n")
        name, equals, value = line.partition(b"=")
        if not equals:
            size, rest = int.from_bytes(rest[:8], "little"), rest[8:]
            value, end, rest = rest[:size], rest[size : size + 1], rest[size + 1 :]
            assert end == b"\n"
        fields[name.decode()], entry = value.decode(), rest
    return fields


@pytest.fixture
def journald(tmp_path: Path) -> Iterator[socket.socket]:
    """Who listens at `tmp_path / "socket"`."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.settimeout(10.0)
        listener.bind(str(tmp_path / "socket"))
        yield listener


def test_only_the_stream_that_is_named_is_the_journal(tmp_path: Path) -> None:
    with (tmp_path / "one").open("w") as one, (tmp_path / "two").open("w") as two:
        status = (tmp_path / "one").stat()
        stream = f"{status.st_dev}:{status.st_ino}"
        assert is_journal(one.fileno(), stream)
        assert not is_journal(two.fileno(), stream)
        assert not is_journal(one.fileno(), None)
        assert not is_journal(one.fileno(), "")
    assert not is_journal(10_000, stream)


@pytest.mark.parametrize(
    ("event", "priority"),
    [
        ({"event": "trouble"}, 4),
        ({"event": "halted"}, 5),
        ({"event": "search"}, 6),
        ({}, 6),
        ({"event": "window", "phase": "hold", "meets_slo": False}, 4),
        ({"event": "window", "phase": "trial", "meets_slo": False}, 5),
        ({"event": "window", "phase": "trial", "meets_slo": True}, 6),
    ],
)
def test_what_matters_is_marked(event: dict[str, object], priority: int) -> None:
    assert priority_of(event) == priority


def test_every_event_has_a_priority() -> None:
    events = [{"event": event.name, "meets_slo": True, "phase": "hold"} for event in EVENTS["run"]]
    assert {priority_of(event) for event in events} == {4, 5, 6}


def test_an_entry_has_the_fields_of_its_event_that_are_one_value() -> None:
    assert fields_of(TROUBLE) == {
        "MESSAGE": "web: it is broken",
        "PRIORITY": "4",
        "SYSLOG_IDENTIFIER": "bayop",
        "BAYOP_EVENT": "trouble",
        "BAYOP_SERVICE": "web",
        "BAYOP_AGAIN_IN_S": "4.5",
    }
    late = fields_of(Line("late", LATE))
    assert (late["BAYOP_MEETS_SLO"], late["BAYOP_SEARCH"], "BAYOP_SETTING" in late) == ("false", "2", False)
    assert fields_of(Line("SIGTERM")) == {"MESSAGE": "SIGTERM", "PRIORITY": "6", "SYSLOG_IDENTIFIER": "bayop"}


def test_the_journal_takes_the_name_of_every_field() -> None:
    for event in EVENTS["run"]:
        for name in event.fields:
            assert re.fullmatch(r"[a-z0-9_]{1,58}", name), f"{name} of {event.name}"


@given(st.dictionaries(NAMES, st.text()))
@example({"MESSAGE": "two\nlines=PRIORITY=0"})
@example({"MESSAGE": "\n", "BAYOP_WHY": ""})
def test_no_value_can_forge_a_field(fields: Mapping[str, str]) -> None:
    escaped = {name: value.encode(errors="backslashreplace").decode() for name, value in fields.items()}
    assert parsed(datagram(fields)) == escaped


def test_what_is_no_text_is_escaped() -> None:
    assert parsed(datagram({"MESSAGE": "a file \udcff"})) == {"MESSAGE": "a file \\udcff"}


def test_the_socket_gets_an_entry(tmp_path: Path, journald: socket.socket) -> None:
    plain: list[str] = []
    Journal(plain.append, tmp_path / "socket").write(TROUBLE)
    assert parsed(journald.recv(65_536)) == fields_of(TROUBLE)
    assert plain == []


def test_where_nobody_listens_a_line_begins_with_its_priority(tmp_path: Path) -> None:
    plain: list[str] = []
    Journal(plain.append, tmp_path / "socket").write(TROUBLE)
    assert plain == ["<4>web: it is broken"]


def test_what_a_datagram_can_not_hold_is_a_line(tmp_path: Path, journald: socket.socket) -> None:
    plain: list[str] = []
    Journal(plain.append, tmp_path / "socket").write(Line("x" * 10_000_000, LATE))
    assert plain == ["<4>" + "x" * 10_000_000]
    journald.settimeout(0.0)
    with pytest.raises(BlockingIOError):
        journald.recv(1)


def test_a_journal_that_does_not_read_keeps_nobody_waiting_and_loses_nothing(
    tmp_path: Path, journald: socket.socket
) -> None:
    plain: list[str] = []
    journal = Journal(plain.append, tmp_path / "socket")
    written = 0
    while not plain:
        journal.write(Line(str(written)))
        written += 1
    assert plain == [f"<6>{written - 1}"]
    taken = [parsed(journald.recv(65_536))["MESSAGE"] for _ in range(written - 1)]
    assert taken == [str(number) for number in range(written - 1)]
