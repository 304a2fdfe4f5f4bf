"""What do counting stays in idle states, and limiting them, cost?

Two processes on two CPUs wake each other in turns, so that both CPUs go idle as often as they can, while
`bayop-idle-count --cost` runs with windows of a second; and then while an agent counts and `bayop idle govern` looks
once a second.

Example:
  make probe && python -m bench.idle_record.count
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from bench.command import Results, flags_of, run_benchmark
from bench.idle_record.players import ping_pong
from rich.console import Console
from tests.support.agents import AgentProcess, Machine
from tests.support.ebpf import listening
from tests.support.processes import cpu_s

_MODULE: Final = "bench.idle_record.count"
_WINDOWS: Final = 10
_BAR_PER_S: Final = 50_000.0
_GOVERNED_S: Final = 30.0
_START_S: Final = 3.0
_CPUS: Final = Path("sys/devices/system/cpu")
_ALLOW: Final = {"idle.max_latency_us": 'places = ["*"]'}
_OF_STATE: Final = ("name", "latency", "residency", "disable")


@dataclass(frozen=True, slots=True)
class Row:
    """One window.

    Attributes:
        stays_per_s: How many there were.
        kernel_ns_per_stay: What the programs took in the kernel, as it measures them.
        nothing_ns_per_stay: What it measures of programs that do nothing.
        reader_ns_per_stay: What the process took that reads the numbers.
    """

    stays_per_s: float
    kernel_ns_per_stay: float
    nothing_ns_per_stay: float
    reader_ns_per_stay: float

    @property
    def core_share(self) -> float:
        """Of a core, for 50,000 stays/s, without the measuring; what reading takes does not grow with them."""
        kernel_ns = _BAR_PER_S * (self.kernel_ns_per_stay - self.nothing_ns_per_stay)
        return (kernel_ns + self.stays_per_s * self.reader_ns_per_stay) / 1e9


@dataclass(frozen=True, slots=True)
class Governed:
    """What the processes take of a core while one of them governs; 0.03 % is a tick of their clock.

    Attributes:
        agent: It passes on what was counted, and is asked whether limits are as they were.
        counter: It reads what was counted.
        governor: It decides.
    """

    agent: float
    counter: float
    governor: float


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and writes the results."""
    flags = flags_of(_MODULE, __doc__)
    flags.add_argument("--recorder", default="target/release/bayop-idle-count", metavar="FILE", help="the counter")
    flags.add_argument("--agent", default="target/release/bayop-agent", metavar="FILE", help="the agent")
    return run_benchmark(_MODULE, flags, argv, _measured)


def _measured(args: argparse.Namespace, _: Console) -> Results:
    with ping_pong():
        command = [args.recorder, "--cost", "--windows", str(_WINDOWS)]
        lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
        governed = Governed(*_governed(Path(args.agent), args.recorder))
    rows = [_row(json.loads(line)) for line in lines[1:]]
    return Results({"raw": rows, "governed": [governed]}, table(rows, governed))


def table(rows: Sequence[Row], governed: Governed) -> str:
    """The medians in Markdown, and what the processes take that govern."""
    kernel = _BAR_PER_S * median(row.kernel_ns_per_stay - row.nothing_ns_per_stay for row in rows) / 1e9
    cells = (
        f"{median(row.stays_per_s for row in rows):,.0f}",
        f"{median(row.kernel_ns_per_stay for row in rows):.0f} ns",
        f"{median(row.nothing_ns_per_stay for row in rows):.0f} ns",
        f"{median(row.reader_ns_per_stay for row in rows):.1f} ns",
        f"{median(row.core_share for row in rows):.2%}",
        f"{governed.agent:.2%}, {governed.counter:.2%}, {governed.governor:.2%}",
        f"{kernel + governed.agent + governed.counter + governed.governor:.2%}",
    )
    return (
        "| stays/s | a stay in the kernel | programs that do nothing | in the reader | of a core at 50,000 stays/s "
        "| agent, counter, governor | of a core, with them |\n"
        "|---:|---:|---:|---:|---:|---:|---:|\n"
        f"| {' | '.join(cells)} |\n"
    )


def _governed(agent: Path, counter: str) -> Sequence[float]:
    """What agent, counter and governor take of a core, one window a second."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "counter.sock"
        table = f'[idle]\ncounter = "{path}"\n'
        with (
            listening(path, [counter, "--asked"]) as counters,
            AgentProcess(agent, folder, _with_idle_states(folder / "root"), allow=_ALLOW, more=table) as serving,
        ):
            words = [sys.executable, "-m", "bayop", "idle", "govern", "--agent", serving.address]
            with subprocess.Popen(words, stdout=subprocess.DEVNULL) as governor:
                time.sleep(_START_S)
                pids = [serving.pid, counters[-1].pid, governor.pid]
                before = [cpu_s(pid) for pid in pids]
                time.sleep(_GOVERNED_S)
                after = [cpu_s(pid) for pid in pids]
                if governor.poll() is not None:
                    raise RuntimeError("the governor has ended")
                governor.terminate()
    return [(end - begin) / _GOVERNED_S for begin, end in zip(before, after, strict=True)]


def _with_idle_states(root: Path) -> Path:
    """A recorded machine with the idle states of this one, and limits that nobody feels."""
    machine = Machine(root)
    for folder in sorted(Path("/", _CPUS).glob("cpu[0-9]*")):
        machine.write(f"{_CPUS}/{folder.name}/power/pm_qos_resume_latency_us", "0")
        for file in folder.glob("cpuidle/state*/*"):
            if file.name in _OF_STATE:
                machine.write(str(file.relative_to("/")), file.read_text(encoding="ascii").strip())
    return root


def _row(window: dict[str, object]) -> Row:
    stays, duration_s = window["stays"], window["duration_s"]
    count = sum(row[3] for row in stays)  # type: ignore[attr-defined]
    return Row(
        count / float(str(duration_s)),
        float(str(window["kernel_ns_per_stay"])),
        float(str(window["nothing_ns_per_stay"])),
        float(str(window["reader_ns_per_stay"])),
    )


if __name__ == "__main__":
    sys.exit(main())
