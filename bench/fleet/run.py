"""What does one `bayop run` take for many services? Processor time and memory, half of them held and half observed.

A real agent of a recorded machine says once what it says; a process then stands in for many of them and for the
Prometheus that knows what their clients see (bench/fleet/agents.py): HTTP over Unix sockets and over loopback. One
`bayop run` looks after all of them, with windows of 60 s. It is watched once all that is to be held is held.

Example:
  cargo build --release --package bayop-agent
  python -m bench.fleet.run target/release/bayop-agent --services 1000 --out bench/fleet/results
"""

from __future__ import annotations

import argparse
import http.client
import json
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench import environment
from tests.support.agents import AgentProcess, Machine
from tests.support.processes import cpu_s

SERVICE: Final = """
[service.s{number}]
agent = "unix:{folder}/{number}.sock"
latency = '''prometheus:http://127.0.0.1:{port}?query=p99{{machine="{number}",q="$quantile"}}&qps=qps{{machine="{number}"}}'''
slo = "p99<200us"
mode = "{mode}"
[service.s{number}.knobs]
"power.cap_w" = "60:120:5"
[service.s{number}.window]
window_s = 1
settle_s = 0.1
most_windows = 1
[service.s{number}.policy]
watch_s = {watch_s:g}
max_trials = 2
polish = {polish}
"""
READY_S: Final = 1200.0
QUIET_S: Final = 70.0
"""After the last search: its windows have ended, and the processor has rested."""


@dataclass(frozen=True, slots=True)
class Use:
    """What a process has taken until now."""

    time_s: float
    cpu_s: float
    rss_mb: float
    threads: int

    @classmethod
    def of(cls, pid: int) -> Use:
        """Of a process, without those that it has started (proc(5), status)."""
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
        fields = dict(line.split(":", 1) for line in status)
        return cls(
            time.monotonic(),
            cpu_s(pid),
            int(fields["VmRSS"].split()[0]) / 1024.0,
            int(fields["Threads"]),
        )


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agent", type=Path, help="the release build")
    parser.add_argument("--services", type=int, default=20)
    parser.add_argument("--watch-s", type=float, default=60.0, help="length of the windows, in s")
    parser.add_argument(
        "--polish", type=int, default=0, help="how many windows after a search are polished; 60 by default in bayop"
    )
    parser.add_argument("--seconds", type=float, default=120.0, help="how long it is watched")
    parser.add_argument("--out", type=Path, help="write env.json and SERVICES.json into a folder here")
    args = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory() as name:
        terms = Terms(args.services, args.watch_s, args.polish, args.seconds)
        summary = measured(Path(name), args.agent.resolve(), terms)
    print(json.dumps(summary, indent=2))
    if args.out:
        folder = environment.results_folder(args.out)
        environment.write(folder, "bench.fleet.run", sys.argv[1:])
        (folder / f"{args.services}.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Terms:
    """What is measured.

    Attributes:
        services: How many, half of them held and half observed.
        watch_s: Length of the windows, in s.
        polish: How many windows after a search are polished.
        seconds: How long the brain is watched.
    """

    services: int
    watch_s: float
    polish: int
    seconds: float


def measured(folder: Path, agent: Path, terms: Terms) -> Mapping[str, float]:
    """The summary."""
    services, watch_s = terms.services, terms.watch_s
    record(agent, folder)
    words = [sys.executable, "-m", "bench.fleet.agents", str(folder), str(services)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as agents:
        assert agents.stdout is not None
        port = int(agents.stdout.readline())
        file = folder / "bayop.toml"
        held = services // 2
        file.write_text(
            "".join(
                SERVICE.format(
                    number=number, folder=folder, port=port, mode="apply" if number < held else "observe",
                    watch_s=watch_s, polish=terms.polish,
                )
                for number in range(services)
            ),
            encoding="utf-8",
        )  # fmt: skip
        with (
            (folder / "err").open("wb") as err,
            subprocess.Popen([sys.executable, "-m", "bayop", "run", str(file)], stderr=err) as brain,
        ):
            try:
                ready_s = until_held(folder, held, brain)
                time.sleep(max(QUIET_S, watch_s))
                before = Use.of(brain.pid)
                time.sleep(terms.seconds)
                after = Use.of(brain.pid)
                still = int((folder / "held").read_text(encoding="utf-8"))
            finally:
                brain.send_signal(signal.SIGTERM)
                brain.wait(120)
                agents.kill()
    troubles = (folder / "err").read_text(encoding="utf-8").count("again in")
    return {
        "services": services,
        "held": still,
        "watch_s": watch_s,
        "polish": terms.polish,
        "all_held_after_s": round(ready_s, 1),
        "troubles": troubles,
        "cpu_share_of_a_core": round((after.cpu_s - before.cpu_s) / (after.time_s - before.time_s), 4),
        "rss_mb": round(after.rss_mb, 1),
        "threads": after.threads,
    }


def until_held(folder: Path, count: int, brain: subprocess.Popen[bytes]) -> float:
    """Waits until all that is to be held is held; how long that took, in s."""
    began = time.monotonic()
    while int((folder / "held").read_text(encoding="utf-8") or 0) < count:
        assert brain.poll() is None, (folder / "err").read_text(encoding="utf-8")[-2000:]
        assert time.monotonic() - began < READY_S, (folder / "err").read_text(encoding="utf-8")[-2000:]
        time.sleep(1.0)
    return time.monotonic() - began


def record(agent: Path, folder: Path) -> None:
    """What a real agent says of a recorded machine."""
    with Machine(folder / "root") as machine, AgentProcess(agent, folder, machine.root):
        for name in ("knobs", "sensors"):
            connection = http.client.HTTPConnection("localhost")
            connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.sock.connect(str(folder / "agent.sock"))
            connection.request("GET", f"/v1/{name}")
            (folder / f"{name}.json").write_bytes(connection.getresponse().read())
            connection.close()


if __name__ == "__main__":
    main()
