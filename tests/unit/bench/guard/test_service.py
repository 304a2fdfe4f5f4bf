from __future__ import annotations

import json
from pathlib import Path

from bench.guard.service import Fall, Record, highest, is_true_breach
from bench.rows import read_rows

BREACH = Fall("quiet", 3.5, "latency", "p99 400 us, over 359 us", 400.0, is_breach=True)
ALARM = Fall("quiet", 9.0, "silence", "nothing for 1.2 s", 80.0, is_breach=False)


def test_a_fall_is_a_true_breach_by_a_latency_above_the_limit_that_was_pushed_before_it() -> None:
    pushes = [(1.0, 900.0), (2.0, 300.0), (3.0, 500.0), (4.0, 800.0)]
    assert highest(pushes, 1.5, 3.0) == 500.0
    assert highest(pushes, 1.5, 1.9) is None
    assert is_true_breach("latency", 500.0, 400.0)
    assert not is_true_breach("latency", 300.0, 400.0)
    assert not is_true_breach("latency", None, 400.0)
    assert not is_true_breach("silence", 500.0, 400.0)


def test_what_is_known_is_written_at_once_and_true_breaches_are_no_false_alarms(tmp_path: Path) -> None:
    record = Record(tmp_path)
    record.fell_back("slower", 0.004)
    record.gave_way(BREACH)
    record.gave_way(ALARM)
    (folder,) = tmp_path.iterdir()
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert summary["quiet"] == {"duration_s": 0.0, "true_breaches": 1, "false_alarms": 1}
    assert summary["before_incidents"] == {"true_breaches": 0, "false_alarms": 0}
    assert summary["slower"]["breaches"] == 1
    assert read_rows(folder / "falls.csv", Fall) == [BREACH, ALARM]
    record.quiet_for(60.0)
    assert json.loads((folder / "summary.json").read_text(encoding="utf-8"))["quiet"]["duration_s"] == 60.0
