"""A day of changing load on the lab's kernel, with and without `bayop run`: frequency, and the delay of a real driver.

Each hour has a turn of the default and one of `bayop run`, as in `bayop day`. The kernel, acpi-cpufreq, e1000e and
memcached are real; the processor is emulated, so that no frequency makes it faster or slower, and power is by the
lab's law (lab/README.md). So it shows what the daemon does with these knobs on a kernel that has them, and what of a
delay's fewer interrupts becomes idle time there; not what latency a frequency costs.

Example:
  lab/install-packages && cargo build --release --package bayop-agent
  python -m bench.day.lab target/release/bayop-agent --out bench/day/results
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from bench import environment
from tests.end_to_end.lab.lab_agent import LabAgent, snapshot

from bayop import __version__
from bayop.cli import report_error
from bayop.cli.day.display import Display
from bayop.errors import BayopError
from bayop.experiments.rig.day.play import RigDayPlan, play_rig_day, record_of
from bayop.experiments.rig.softirqs import net_rx_softirqs
from bayop.live.file import Load
from bayop.load.answered import read_memcached
from bayop.load.curve import LoadCurve
from bayop.load.plan import OpenLoop, Plan
from bayop.report.rig_day.report import write_report
from bayop.slo import Slo
from bayop.space import FREQ_MHZ, RX_USECS
from lab import Files, Machine
from lab.agent import add_agent
from lab.errors import LabError

KNOBS: Final = {FREQ_MHZ: "all", RX_USECS: "0:1000:50"}
_ENERGY: Final = "/sys/class/powercap/intel-rapl:0/energy_uj"
_CONNECTIONS: Final = 8
_TIMEOUT_S: Final = 5.0


class LabServer:
    """The lab's machine with memcached and the agent, as what a day is played on.

    Args:
        machine: It is on.
        agent: Its agent, and what a client needs to talk to it.
        folder: For the files of `bayop run`.
    """

    description: Final = "the lab's emulated server (Debian's kernel, e1000e, acpi-cpufreq)"
    caveat: Final = (
        "The kernel and its drivers are real, the processor is emulated: no frequency makes it faster or slower, and "
        "power is computed from how long it was busy and at which frequency, by the lab's law. So what a lower "
        "frequency costs clients is not in these numbers."
    )
    knobs: Final[Mapping[str, str]] = KNOBS

    def __init__(self, machine: Machine, agent: LabAgent, folder: Path) -> None:
        self._machine, self._agent, self.folder = machine, agent, folder
        self.address, self.client = agent.address, agent.client
        self.credentials = agent.credentials
        server = f"127.0.0.1:{machine.ports.memcached}"
        plan = Plan(
            servers=(server,),
            schedule=OpenLoop.constant(1.0),
            connections=_CONNECTIONS,
            blocking=True,
            timeout_s=_TIMEOUT_S,
        )
        self.load = Load(plan, (), store=True)

    def attributes(self) -> Mapping[str, str]:
        """Every control of the machine."""
        return {str(number): line for number, line in enumerate(snapshot(self._machine))}

    def served(self) -> int:
        """Reads and writes, by memcached's own statistics."""
        with socket.create_connection(("127.0.0.1", self._machine.ports.memcached), timeout=_TIMEOUT_S) as connection:
            connection.sendall(b"stats\r\nquit\r\n")
            requests = read_memcached(connection.makefile("rb").read())
        if requests is None:
            raise LabError(wrong="memcached does not tell its statistics")
        return requests

    def service_cpu_s(self) -> float:
        """Of all threads of memcached."""
        times = self._machine.run("cat /proc/$(pidof memcached)/task/*/schedstat").stdout.splitlines()
        return sum(int(line.split()[0]) for line in times) / 1e9

    def polls(self) -> int:
        """NET_RX softirqs of both CPUs."""
        return net_rx_softirqs(self._machine.read("/proc/softirqs"))

    def energy_j(self) -> float:
        """Of package-0, whose counter wraps after a longer day than this."""
        return int(self._machine.read(_ENERGY)) / 1e6


def main(arguments: Sequence[str] | None = None) -> int:
    """Plays the day, and writes its record and report."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.day.lab", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("agent", type=Path, help="the program bayop-agent")
    parser.add_argument("--minutes", type=float, default=24.0, help="how long the day takes (default: 24)")
    parser.add_argument("--hours", type=int, default=24, help="how much of the load curve is played (default: 24)")
    parser.add_argument("--load", type=float, default=600.0, help="requests/s in the busiest hour (default: 600)")
    parser.add_argument("--slo", type=Slo.parse, default=Slo.parse("p90<5ms"), help="default: p90<5ms")
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    args = parser.parse_args(arguments)
    try:
        return _play(args)
    except BayopError as error:
        report_error(error)
        return error.exit_code


def _play(args: argparse.Namespace) -> int:
    plan = RigDayPlan(
        curve=LoadCurve.load("twitter").first(args.hours).scaled_to(args.load),
        hour_s=args.minutes * 60.0 / args.hours,
        slo=args.slo,
    )
    with tempfile.TemporaryDirectory() as folder:
        files = Files()
        access = add_agent(files, args.agent, Path(folder) / "certificates")
        with Machine(files=files) as machine:
            agent = LabAgent(machine, access)
            agent.ensure_running()
            server = LabServer(machine, agent, Path(folder))
            record = record_of(plan, server)
            display = Display(record)
            play_rig_day(plan, server, record, display)
    out = environment.results_folder(args.out)
    environment.write(out, "bench.day.lab", sys.argv[1:])
    (out / "lab.json").write_text(json.dumps(record.to_json(), allow_nan=False), encoding="utf-8")
    display.on_end(write_report(record, out, __version__))
    return 0


if __name__ == "__main__":
    sys.exit(main())
