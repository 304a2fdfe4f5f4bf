from __future__ import annotations

from pathlib import Path

import pytest

from bayop.daemon.journal import is_journal, priority_of
from bayop.daemon.report import Reporter
from bayop.errors import BayopError
from bayop.events import EVENTS
from bayop.state.store import Store


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
        ({"event": "trouble"}, "<4>"),
        ({"event": "halted"}, "<5>"),
        ({"event": "search"}, "<6>"),
        ({"event": "window", "phase": "hold", "meets_slo": False}, "<4>"),
        ({"event": "window", "phase": "trial", "meets_slo": False}, "<5>"),
        ({"event": "window", "phase": "trial", "meets_slo": True}, "<6>"),
    ],
)
def test_what_matters_is_marked(event: dict[str, object], priority: str) -> None:
    assert priority_of(event) == priority


def test_every_event_has_a_priority() -> None:
    events = [{"event": event.name, "meets_slo": True, "phase": "hold"} for event in EVENTS["run"]]
    assert {priority_of(event) for event in events} == {"<4>", "<5>", "<6>"}


def test_a_line_begins_with_it(tmp_path: Path) -> None:
    lines: list[str] = []
    with Store(tmp_path / "bayop.db") as store:
        reporter = Reporter(store, lambda: 0.0, lines.append, lambda _: None, priority_of)
        reporter.trouble("web", BayopError(wrong="it is broken"), 1.0)
        reporter.say("fell-back", "", service="web")
    assert lines == ["<4>web: it is broken; again in 1 s"]
