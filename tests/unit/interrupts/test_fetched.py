from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.support.captures import PLACE, RECORD, header

from bayop.errors import InputError
from bayop.interrupts.fetched import fetched
from bayop.interrupts.record import Capture, record

QUEUE = [{"irq": 0, "name": "nic0"}]


class FakeAgent:
    """An agent whose NIC interrupts every tenth of a second, and which keeps and tells few records."""

    def __init__(self, *, kept: int = 100, told: int = 3, device: str = "nic0") -> None:
        self.kept, self.told, self.device = kept, told, device
        self.now_s = 7.0
        self.asked: list[int] = []

    def sleep(self, duration_s: float) -> None:
        self.now_s += duration_s

    def ask(self, since: int) -> bytes:
        self.asked.append(since)
        newest = round(10 * self.now_s)
        oldest = max(newest - self.kept, 0)
        first = min(max(since, oldest), newest)
        rows = [(100_000_000 * n, 0, 0, 1, 60, 1, 60, 1, 0) for n in range(first, newest)][: self.told]
        said = {
            "by": "library OS", "device": self.device, "queues": QUEUE, "records": len(rows),
            "lost": max(oldest - since, 0), "next": first + len(rows), "left": newest - first - len(rows),
            "time_s": self.now_s, "delay_us": 50.0,
        }  # fmt: skip
        return header(**said) + np.array(rows, RECORD).tobytes()

    def capture(self, folder: Path, duration_s: float = 1.0, device: str = "nic0") -> Capture:
        printed = fetched(self.ask, device=device, duration_s=duration_s, sleep=self.sleep, place=PLACE)
        return record(printed, folder, place=PLACE, most_bytes=10**6)


def times(capture: Capture) -> Sequence[int]:
    return pl.read_parquet(capture.paths[0])["time_ticks"].to_list()


def test_every_record_of_the_time_is_in_the_log_and_none_from_before(tmp_path: Path) -> None:
    agent = FakeAgent()
    capture = agent.capture(tmp_path)
    assert times(capture) == [100_000_000 * n for n in range(70, 80)]
    assert (capture.paths[0].name, capture.lost, capture.counted["duration_s"]) == ("nic0.parquet", 0, pytest.approx(1))


def test_what_the_agent_does_not_keep_any_more_is_counted(tmp_path: Path) -> None:
    agent = FakeAgent(kept=1)
    capture = agent.capture(tmp_path)
    assert (len(times(capture)), capture.lost) == (5, 5)


def test_what_the_agents_recorder_had_no_room_for_is_counted(tmp_path: Path) -> None:
    agent = FakeAgent()
    lost = iter(range(10, 100, 2))

    def ask(since: int) -> bytes:
        head, _, records = agent.ask(since).partition(b"\n")
        return json.dumps({**json.loads(head), "lost_by_recorder": next(lost)}).encode() + b"\n" + records

    printed = fetched(ask, device="nic0", duration_s=1.0, sleep=agent.sleep, place=PLACE)
    capture = record(printed, tmp_path, place=PLACE, most_bytes=10**6)
    assert len(times(capture)) == 10
    assert capture.lost == 2 * (len(agent.asked) - 1), "but for what it had lost before"


def test_another_nic_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the machine has no NIC 'eth0'") as caught:
        FakeAgent().capture(tmp_path, device="eth0")
    assert caught.value.hint == "it has 'nic0'"


@pytest.mark.parametrize("answer", [b"", b"[]", b"{}", b'{"device": "nic0"}', b'{"device": "nic0", "time_s": "now"}'])
def test_what_is_no_recording_is_refused(tmp_path: Path, answer: bytes) -> None:
    printed = fetched(lambda _: answer, device="nic0", duration_s=1, sleep=lambda _: None, place=PLACE)
    with pytest.raises(InputError):
        record(printed, tmp_path, place=PLACE, most_bytes=10**6)


def test_an_agent_that_changes_its_mind_is_refused(tmp_path: Path) -> None:
    agent = FakeAgent()
    answers = iter([agent.ask(2**63), json.dumps({"next": 1}).encode()])
    printed = fetched(lambda _: next(answers), device="nic0", duration_s=1, sleep=agent.sleep, place=PLACE)
    with pytest.raises(InputError, match="records of interrupts behind a line of JSON"):
        record(printed, tmp_path, place=PLACE, most_bytes=10**6)
