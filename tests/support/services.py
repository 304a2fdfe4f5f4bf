"""A service for `bayop run` on a recorded machine: clients whose load a test sets, and the file that describes it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Final

from tests.support.agents import AgentProcess

# Latency grows as the cap falls, and with the load: at 5000 qps 200 us at 85 W, at 7000 qps at 100 W.
_CLIENTS: Final = """
import json, os, pathlib, sys, time
setting, window_s = json.loads(os.environ["BAYOP_SETTING"]), float(os.environ["BAYOP_WINDOW_S"])
folder = pathlib.Path(sys.argv[1])
cap_w = setting.get("power.cap_w", 120)
ends = time.monotonic() + window_s
while True:
    if (folder / "gone").exists():
        sys.exit("no client answers")
    qps = float((folder / "qps").read_text())
    slow = 10 if (folder / "slow").exists() and cap_w < 120 else 1
    p99_us = slow * 100 * (120 / cap_w) ** 2 * qps / 5000
    print(json.dumps({"vantage": "client", "p99_us": p99_us, "qps": qps}), flush=True)
    if time.monotonic() >= ends:
        break
    time.sleep(max(min(0.1, ends - time.monotonic()), 0))
"""


class Clients:
    """What the clients of a service do, as files in a folder say: `qps`, `slow` and `gone`."""

    def __init__(self, folder: Path, qps: float = 5000.0) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        (folder / "clients.py").write_text(_CLIENTS, encoding="utf-8")
        self.send(qps)

    @property
    def command(self) -> str:
        """The source of latency."""
        return shlex.join([sys.executable, "-S", "-I", str(self.folder / "clients.py"), str(self.folder)])

    def send(self, qps: float) -> None:
        """Changes the load."""
        new = self.folder / "qps.new"
        new.write_text(str(qps), encoding="utf-8")
        new.replace(self.folder / "qps")

    def become(self, what: str, *, so: bool = True) -> None:
        """Makes them `slow` under any cap below 120 W, or `gone`, or not so."""
        if so:
            (self.folder / what).touch()
        else:
            (self.folder / what).unlink()


def service(agent: AgentProcess, clients: Clients, *, name: str = "web", mode: str = "apply", more: str = "") -> str:
    """The tables of a service in a `bayop.toml`, with windows of tenths of a second."""
    return f"""
[service.{name}]
agent = "{agent.address}"
latency = '''{clients.command}'''
slo = "p99<200us"
mode = "{mode}"
[service.{name}.knobs]
"power.cap_w" = "60:120:5"
[service.{name}.window]
window_s = 0.2
settle_s = 0.05
most_windows = 1
[service.{name}.policy]
watch_s = 1
breach_rest_s = 1
[service.{name}.hold]
lease_s = 4
{more}
"""
