"""Why nothing may be tried: from the file's hours and the state's windows, those of before a restart too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tests.unit.state.test_store import WINDOW

from bayop.daemon.file import DaemonFile, ServiceFile
from bayop.daemon.halts import Halts
from bayop.daemon.report import Reporter
from bayop.state.store import Store

MINUTE_S, DAY_S = 60.0, 86_400.0
FILE = """
[service.web]
agent = "unix:/a"
latency = "./p99.sh"
slo = "p99<500us"
"""


def web(tmp_path: Path, more: str) -> ServiceFile:
    path = tmp_path / "bayop.toml"
    path.write_text(FILE + more, encoding="utf-8")
    return DaemonFile.read(path).services[0]


def test_a_budget_that_is_spent_comes_back_as_the_period_rolls_on_and_outlives_a_restart(tmp_path: Path) -> None:
    file = web(tmp_path, "[service.web.budget]\nrequests_over = 0.001")
    events: list[Mapping[str, object]] = []
    with Store(tmp_path / "bayop.db") as store:
        reporter = Reporter(store, lambda: 0.0, lambda _: None, events.append)
        halts = Halts(file, store, reporter)
        assert (halts.budget_left(0.0), halts.heed(0.0)) == (1.0, None)
        for minute in range(10):
            over_share = 0.5 if minute in (2, 4, 7) else 0.0
            store.add_window("web", replace(WINDOW, start_s=minute * MINUTE_S, over_share=over_share))
            halts.heed((minute + 1) * MINUTE_S)
        assert [(e["event"], e.get("why")) for e in events] == [("halted", "overspent")]
        assert halts.budget_left(600.0) == 0.0, "90 s of 86.4 s"
    with Store(tmp_path / "bayop.db") as store:
        halts = Halts(file, store, Reporter(store, lambda: 0.0, lambda _: None, events.append))
        assert halts.heed(DAY_S) == "overspent"
        assert halts.heed(DAY_S + 3 * MINUTE_S) is None, "the first of the three has rolled out"
        left = halts.budget_left(DAY_S + 3 * MINUTE_S)
        assert left is not None
        assert 0.2 < left < 0.4, "60 s of 86.4 s"
    assert [e["event"] for e in events] == ["halted", "halted", "unhalted"]


def test_quiet_hours_are_said_with_their_end(tmp_path: Path) -> None:
    file = web(tmp_path, '[service.web.policy]\nquiet = ["00:00-00:10"]')
    lines: list[str] = []
    with Store(tmp_path / "bayop.db") as store:
        halts = Halts(file, store, Reporter(store, lambda: 0.0, lambda line: lines.append(line.text), lambda _: None))
        assert [halts.heed(now_s) for now_s in (0.0, 300.0, 600.0)] == ["quiet", "quiet", None]
        assert halts.budget_left(0.0) is None
    assert lines == ["web: quiet hours until 1970-01-01 00:10Z: nothing is tried", "web: may search again"]
