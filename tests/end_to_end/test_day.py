"""A day on the rig: a real memcached, agent and `bayop run`, for some hours of half a minute."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import msgspec
import pytest
from jsonschema import Draft202012Validator
from tests.end_to_end.test_live import processes
from tests.support.needs import need
from tests.support.patience import eventually
from tests.support.schemas import closed

from bayop.events import ERROR, EVENTS, schema
from bayop.experiments.rig.day.record import RigDay

pytestmark = [pytest.mark.slow, pytest.mark.weekly, pytest.mark.alone]


def day(agent_binary: Path, folder: Path) -> list[str]:
    return [
        sys.executable, "-m", "bayop", "day", "--agent-program", str(agent_binary), "--out", str(folder), "--hours",
        "2", "--minutes", "1", "--load", "3kqps", "--slo", "p90<1s", "--json",
    ]  # fmt: skip


def test_each_hour_has_a_turn_of_each_and_everything_is_put_back(agent_binary: Path, tmp_path: Path) -> None:
    need("namespaces", "memcached")
    run = subprocess.run(day(agent_binary, tmp_path), capture_output=True, text=True, timeout=240, check=False)
    assert run.returncode in (0, 1), run.stderr
    events: list[dict[str, Any]] = [json.loads(line) for line in run.stdout.splitlines()]
    validator = Draft202012Validator(closed(schema("day", [*EVENTS["day"], ERROR])))
    for event in events:
        validator.validate(event)
    assert [event["event"] for event in events] == ["start", "page", *["turn"] * 4, "data", "result"]
    assert sorted((event["hour"], event["who"]) for event in events[2:6]) == [
        (0, "bayop"), (0, "default"), (1, "bayop"), (1, "default"),
    ]  # fmt: skip
    assert all(event["requests"] > 3000 for event in events[2:6])
    assert events[-1]["restored"] is True
    assert events[-1]["trials"] >= 1 or events[-1]["searches"] == 0
    record = msgspec.json.decode((tmp_path / "data.json").read_bytes(), type=RigDay)
    assert (record.failure, len(record.turns)) == (None, 4)
    assert any(window.setting for window in record.windows)
    assert (tmp_path / "report.html").read_text(encoding="utf-8").count("<svg") == 2
    assert processes(record.machine.split("unix:")[1].split("/agent.sock")[0]) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_whatever_ends_it_takes_everything_down(agent_binary: Path, tmp_path: Path, number: signal.Signals) -> None:
    need("namespaces", "memcached")
    with subprocess.Popen(
        day(agent_binary, tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        folder = json.loads(run.stdout.readline())["machine"].split("unix:")[1].split("/agent.sock")[0]
        with urlopen(json.loads(run.stdout.readline())["url"] + "api/services", timeout=10) as page:  # noqa: S310 -- http
            assert "memcached" in page.read().decode()
        assert json.loads(run.stdout.readline())["event"] == "turn"
        assert processes(folder)
        run.send_signal(number)
        _, errors = run.communicate(timeout=90)
    assert eventually(lambda: processes(folder) == [], within_s=30)
    assert "Traceback" not in errors
    if number != signal.SIGKILL:
        record = msgspec.json.decode((tmp_path / "data.json").read_bytes(), type=RigDay)
        assert (record.failure, record.restored, len(record.turns)) == ("KeyboardInterrupt", True, 1)
