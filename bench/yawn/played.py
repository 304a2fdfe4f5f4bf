"""What `bench.yawn.play` kept, as the records that figures are drawn of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bayop.experiments.idle.record import CoreUse, Day, Shown, Step, Window
from bayop.slo import Slo


def read_cores(folder: Path) -> list[CoreUse]:
    """How each core spent its time, at each load without and with the balancer."""
    return [
        CoreUse(event["qps_offered"], event["balancer"], event["power_w"], event["residency"])
        for event in _events(folder / "cores.jsonl")
    ]


def read_day(folder: Path, server: str) -> Day:
    """The day, minute by minute."""
    events = list(_events(folder / "day.jsonl"))
    slo = next(Slo.parse(event["slo"]) for event in events if event["event"] == "total")
    windows = [_window(event) for event in events if event["event"] == "window"]
    return Day(server, "[Y]'s trace", slo, windows)


def _events(path: Path) -> Iterator[dict[str, Any]]:
    return map(json.loads, path.read_text(encoding="utf-8").splitlines())


def _window(event: dict[str, Any]) -> Window:
    known = event["published_power_w"] is not None
    published = Shown(event["published_power_w"], event["published_latency_us"]) if known else None
    step = Step(event["start_s"], event["duration_s"], event["qps_offered"])
    return Window(event["policy"], step, Shown(event["power_w"], event["latency_us"]), published)
