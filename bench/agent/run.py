"""What does the agent cost: processor time and memory at rest, and the time of applying a setting?

Runs the packaged build on a recorded server with 64 power caps, in a folder of its own. "At rest" is serving nobody,
with nothing held, and with every cap held and looked at each second. A setting writes all caps, one cap, or nothing
new; its time is the client's, so it has the journal's disk syncs in it, which are measured beside it; `agent_cpu` is
the agent's processor time.

Example:
  cargo build --profile agent --package bayop-agent
  python -m bench.agent.run target/agent/bayop-agent --out bench/agent/results
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench.results import tell_summary
from tests.support.agents import AgentProcess

from bayop.space import CAP_W

ZONES = 32
CONSTRAINTS = 2
ALLOWED = {CAP_W: 'places = ["*"]'}


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agent", type=Path, help="the packaged build")
    parser.add_argument("--rest-s", type=float, default=60.0, help="how long the cost at rest is measured")
    parser.add_argument("--settings", type=int, default=200, help="how often each kind of setting is applied")
    parser.add_argument("--out", type=Path, help="write summary.json and env.json into a folder for this machine here")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        summary = measure(args.agent.resolve(), Path(name), args.rest_s, args.settings)
    tell_summary("bench.agent.run", summary, args.out)


def measure(agent: Path, folder: Path, rest_s: float, settings: int) -> Mapping[str, object]:
    """The costs of an agent on a recorded server in `folder`."""
    record(folder / "root")
    with AgentProcess(agent, folder, folder / "root", allow=ALLOWED):
        client = Client(folder / "agent.sock")

        def rest_cpu_pct() -> float:
            before = client.ask("GET", "/v1/status")
            time.sleep(rest_s)
            after = client.ask("GET", "/v1/status")
            cpu_s: float = after["own"]["cpu_s"] - before["own"]["cpu_s"]
            uptime_s: float = after["uptime_s"] - before["uptime_s"]
            return round(100 * cpu_s / uptime_s, 4)

        nothing_held_pct = rest_cpu_pct()
        lease = client.ask("POST", "/v1/lease", {"holder": "bench", "ttl_s": 3600})["lease"]

        def apply(setting: Mapping[str, float]) -> None:
            client.ask("POST", "/v1/apply", {"lease": lease, "setting": setting})

        one, every = "power.cap_w@intel-rapl:0/0", CAP_W

        def cost(action: Callable[[int], object]) -> Mapping[str, float]:
            before_s = client.cpu_s()
            times = milliseconds(settings, action)
            return {**times, "agent_cpu": round(1e3 * (client.cpu_s() - before_s) / settings, 3)}

        request_ms = {
            "one_cap": cost(lambda i: apply({one: 60 + i % 2})),
            "every_cap": cost(lambda i: apply({every: 60 + i % 2})),
            "status": cost(lambda _: client.ask("GET", "/v1/status")),
        }
        every_cap_held_pct = rest_cpu_pct()
        return {
            "caps": ZONES * CONSTRAINTS,
            "rest_s": rest_s,
            "rest_cpu_pct_of_a_core": {"nothing_held": nothing_held_pct, "every_cap_held": every_cap_held_pct},
            "rss_mb": round(client.ask("GET", "/v1/status")["own"]["rss_bytes"] / 1e6, 2),
            "request_ms": request_ms,
            "disk_sync_ms": milliseconds(settings, lambda _: sync(folder / "state/probe")),
        }


def record(root: Path) -> None:
    """A server with power caps, as the kernel shows it (Documentation/power/powercap/powercap.rst)."""
    for zone in range(ZONES):
        folder = root / f"sys/class/powercap/intel-rapl:{zone}"
        folder.mkdir(parents=True)
        files = {"name": f"package-{zone}", "energy_uj": "1000000", "max_energy_range_uj": "262143328850"}
        for index in range(CONSTRAINTS):
            files[f"constraint_{index}_power_limit_uw"] = "125000000"
            files[f"constraint_{index}_max_power_uw"] = "200000000"
        for name, text in files.items():
            (folder / name).write_text(text + "\n")


def milliseconds(times: int, action: Callable[[int], object]) -> Mapping[str, float]:
    """Median and 99th percentile of an action's time."""
    taken_ms = []
    for index in range(times):
        start = time.perf_counter()
        action(index)
        taken_ms.append(1e3 * (time.perf_counter() - start))
    p99 = statistics.quantiles(taken_ms, n=100)[98]
    return {"p50": round(statistics.median(taken_ms), 3), "p99": round(p99, 3)}


def sync(path: Path) -> None:
    """What one replacement of the journal costs the disk; an apply has two."""
    with path.open("w") as file:
        file.write("x" * 20_000)
        file.flush()
        os.fsync(file.fileno())
    path.rename(path.with_suffix(".renamed"))
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


class Client:
    """Requests on one connection to the agent's socket."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = http.client.HTTPConnection("agent")

    def cpu_s(self) -> float:
        """The processor time of the agent so far."""
        return float(self.ask("GET", "/v1/status")["own"]["cpu_s"])

    def ask(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """The answer to a request that succeeds."""
        if self._connection.sock is None:  # at first, and after the agent has closed an idle one
            self._connection.sock = socket.socket(socket.AF_UNIX)
            self._connection.sock.connect(str(self._path))
        try:
            self._connection.request(method, path, None if body is None else json.dumps(body))
            response = self._connection.getresponse()
        except (http.client.RemoteDisconnected, BrokenPipeError):
            self._connection.close()
            return self.ask(method, path, body)
        answer: dict[str, Any] = json.loads(response.read())
        if response.status >= 400:
            raise SystemExit(f"{method} {path}: {answer}")
        return answer


if __name__ == "__main__":
    main()
