"""Many agents and a Prometheus as one process, that answer over HTTP what a real agent of a recorded machine has said.

Reads a folder: `knobs.json` and `sensors.json`, as the real agent has answered. Listens at FOLDER/0.sock, FOLDER/1.sock
... for agents, and for Prometheus on a free port of loopback, which it prints. An agent draws what its cap allows, and
keeps its lease and its hold; its clients see a latency that grows as the cap falls.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs

from bayop.space import CAP_W

MOST_W: Final = 120.0
QPS: Final = 5000.0
SLO_US: Final = 200.0
_TOGETHER: Final = re.compile(r'label_replace\((.+?), "bayop_query", "(\d+)", "", ""\)')


class Agent:
    """One machine behind its agent."""

    def __init__(self, knobs: bytes, sensors: dict[str, Any]) -> None:
        self._knobs, self._sensors = knobs, sensors
        self._holder: str | None = None
        self._hold: dict[str, Any] | None = None
        self.cap_w = MOST_W
        self._energy_j, self._since_s = 0.0, time.monotonic()

    @property
    def p99_us(self) -> float:
        """What clients see."""
        return 100.0 * (MOST_W / self.cap_w) ** 2

    def answer(self, method: str, path: str, body: dict[str, Any]) -> bytes | dict[str, Any]:
        """The answer to a request."""
        verbs: dict[str, Callable[[], bytes | dict[str, Any]]] = {
            "GET /v1/knobs": lambda: self._knobs,
            "GET /v1/sensors": self._read,
            "GET /v1/hold": lambda: {"hold": self._hold},
            "GET /v1/status": self._status,
            "POST /v1/lease": lambda: self._lend(body["holder"]),
            "POST /v1/apply": lambda: self._apply(body, is_hold=False),
            "POST /v1/hold": lambda: self._apply(body, is_hold=True),
            "POST /v1/release": self._release,
        }
        return verbs.get(f"{method} {path}", dict)()

    def _lend(self, holder: str) -> dict[str, Any]:
        self._holder = holder
        return {"lease": "token"}

    def _release(self) -> dict[str, Any]:
        self._set(MOST_W)
        self._holder = self._hold = None
        return {"restored": [CAP_W], "latched": [], "stood_down": []}

    def _set(self, cap_w: float) -> None:
        now_s = time.monotonic()
        self._energy_j += self.cap_w * (now_s - self._since_s)
        self.cap_w, self._since_s = cap_w, now_s

    def _apply(self, body: dict[str, Any], *, is_hold: bool) -> dict[str, Any]:
        before, setting = self.cap_w, body["setting"]
        self._set(float(setting.get(CAP_W, MOST_W)))
        self._hold = None
        if is_hold:
            kept = {name: body[name] for name in ("setting", "fall_back", "conditions")}
            self._hold = kept | {"age_s": 0.0, "latest": None, "packets_per_s": None, "fell_back": None}
        change = {"knob": CAP_W, "before": before, "requested": self.cap_w, "effective": self.cap_w}
        return {"changes": [change], "setting": {CAP_W: self.cap_w}}

    def _read(self) -> dict[str, Any]:
        self._set(self.cap_w)
        now_s = time.monotonic()
        meter = {"value": self._energy_j, "time_s": now_s}
        readings = [
            reading | {"time_s": now_s} | (meter if reading["name"] == "energy_j" else {})
            for reading in self._sensors["readings"]
        ]
        return {"readings": readings}

    def _status(self) -> dict[str, Any]:
        lease = None if self._holder is None else {"holder": self._holder, "age_s": 1.0, "expires_in_s": 60.0}
        return {
            "version": "0", "mode": "apply", "lease": lease, "kept": False, "applied_by": None, "held": [],
            "hold": self._hold, "damage": None,
        }  # fmt: skip


class Prometheus:
    """Answers instant queries of what the clients of one machine see, several in one as the brain asks them."""

    def __init__(self, agents: list[Agent]) -> None:
        self._agents = agents

    def answer(self, form: str) -> dict[str, Any]:
        """The answer to a query such as `p99{machine="7"}`, or to several."""
        query, now_s = parse_qs(form)["query"][0], time.time()
        asked = _TOGETHER.findall(query) or [(query, "")]
        result = [
            {"metric": {"bayop_query": mark}, "value": [now_s, str(self._value(one, now_s))]} for one, mark in asked
        ]
        return {"status": "success", "data": {"resultType": "vector", "result": result}}

    def _value(self, query: str, now_s: float) -> float:
        machine = re.search(r'machine="(\d+)"', query)
        assert machine, query
        if query.startswith("timestamp("):
            return now_s
        return QPS if query.startswith("qps") else self._agents[int(machine[1])].p99_us / 1e6


async def serve(folder: Path, count: int) -> None:
    """Serves until it is killed."""
    knobs = (folder / "knobs.json").read_bytes()
    sensors = json.loads((folder / "sensors.json").read_text(encoding="utf-8"))
    agents = [Agent(knobs, sensors) for _ in range(count)]
    for number, agent in enumerate(agents):
        reply = partial(_reply, partial(_ask, agent))
        await asyncio.start_unix_server(reply, folder / f"{number}.sock", backlog=64)
    prometheus = Prometheus(agents)
    reply = partial(_reply, lambda _method, _path, body: prometheus.answer(body))
    server = await asyncio.start_server(reply, "127.0.0.1", backlog=4096)
    (folder / "held").write_text("0", encoding="utf-8")
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    while True:
        held = sum(agent.cap_w < MOST_W for agent in agents)
        (folder / "held").write_text(str(held), encoding="utf-8")
        await asyncio.sleep(1.0)


def _ask(agent: Agent, method: str, path: str, body: str) -> bytes | dict[str, Any]:
    return agent.answer(method, path, json.loads(body or "{}"))


async def _reply(
    answer: Callable[[str, str, str], bytes | dict[str, Any]],
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    """One request a connection, as the brain sends them."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, path, _ = head.split(" ", 2)
        length = re.search(r"(?i)^content-length: *(\d+)", head, re.MULTILINE)
        body = (await reader.readexactly(int(length[1]))).decode() if length else ""
        said = answer(method, path, body)
        text = said if isinstance(said, bytes) else json.dumps(said).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(text) + text)
        await writer.drain()
    except (OSError, asyncio.IncompleteReadError):
        pass  # who asked has gone
    finally:
        writer.close()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), int(sys.argv[2])))
