"""A whole machine to tune, on this one: a service and an agent behind a veth pair, and the file that describes them.

Everything is gone with the process that made it, also when that is killed: the namespaces have no names, and their
processes die with ours (prctl(2), PR_SET_PDEATHSIG). What a `kill -9` leaves is a folder under the temporary folder.
"""

from __future__ import annotations

import grp
import json
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Final, Self

from bayop.applications.definition import DEFAULT, Application, find_application
from bayop.applications.packages import require_program
from bayop.domains import ALL
from bayop.errors import UnsupportedError
from bayop.experiments.rig.polls import polls_of
from bayop.experiments.rig.softirqs import net_rx_softirqs
from bayop.experiments.rig.veth import (
    AHEAD,
    SERVER_ADDRESS,
    Schedule,
    VethPair,
    missing,
    start,
)
from bayop.last_words import LastWords
from bayop.live.agent.client import AgentClient
from bayop.live.agent.transport import UnreachableError
from bayop.live.file import LiveFile, Load
from bayop.live.patience import PATIENCE_S
from bayop.live.service import PowerModel, Service
from bayop.program import end
from bayop.space import DEFER_HARD_IRQS, GRO_FLUSH_TIMEOUT_US

LONGEST_US: Final = 400
"""The longest wait that is searched unless somebody asks for more."""

MOST_POLLS: Final = 4
"""The most empty polls that are searched."""

_POWERS_W: Final = {"idle_w": 20.0, "busy_w": 60.0}
"""What this machine would draw with no processor busy, and with all."""

_POLL_S: Final = 7e-6
"""Processor time of a poll of the server's device, by perf(1) on a virtual machine. Of two settings under one load the
polls differ; what their packets take (5 us each there) does not, and is left out."""

_AGENT: Final = """\
mode = "apply"
socket = "{folder}/agent.sock"
group = "{group}"
state_dir = "{folder}/state"

[allow."{timeout}"]
places = ["{device}"]

[allow."{deferral}"]
places = ["{device}"]

[power]
meter = "model"

[power.model]               # a small server; an estimate either way
idle_w = {idle_w}
busy_w = {busy_w}
"""
_LIVE: Final = """\
agent = "unix:{folder}/agent.sock"

[knobs]
{knobs}
[load]
server = "{server}:{port}"
protocol = "{protocol}"
qps = {qps:g}
connections = 8
blocking = true             # a generator that polls would take a core from the server
through = "{through}"
{more}
[window]
window_s = {window_s:g}
settle_s = 0.25
interval = 0.1
most_windows = 2

[guard]
latency_factor = 10.0       # nobody is served here whom a pause of this machine's own could harm

[host]
patience_s = {patience_s:g}
"""
QPS: Final = 8000.0
"""The load on an application that does not say what it wants."""

WINDOW_S: Final = 1.0
"""The least length of a window."""

_PEAK_S: Final = 3.0
_START_S: Final = 10.0
_TIMEOUT_S: Final = 1.0
"""How long an answer may take of an application that does not say so itself."""


class Rig:
    """Runs from `with` to its end.

    Args:
        agent: The program `bayop-agent`.
        qps: The load that its file asks for; None for the application's share of what it answers at most.
        window_s: The length of the windows that its file asks for; None for as many requests as the application wants.
        patience_s: How long a search waits for a hypervisor that takes the processors away.
        longest_us: The longest wait that is searched; None for what the application says, else `LONGEST_US`.
        application: What it serves; memcached when left out.
        schedule: How the service and its clients get at the processors.

    Attributes:
        qps: The load, in requests/s, once it is open.
        caveat: What its numbers can't say, for people.
        credentials: Its agent asks for none.

    Raises:
        UnsupportedError: this user may not make namespaces, or a program is missing.
    """

    caveat: Final = (
        "Measured on this machine, with a pair of virtual devices in place of a NIC and its wire: what is tuned is the "
        "kernel's deferral of interrupts, which does to packets what a NIC's delay does. Power is not measured, and no "
        "frequency is set."
    )
    credentials: Final = None

    def __init__(
        self,
        agent: Path,
        *,
        qps: float | None,
        window_s: float | None,
        patience_s: float = PATIENCE_S,
        longest_us: int | None = None,
        application: Application | None = None,
        schedule: Schedule = AHEAD,
    ) -> None:
        self._application = application or find_application(DEFAULT)
        reason = missing()
        if reason is not None:
            raise UnsupportedError(wrong=f"this machine can't hold two network namespaces: {reason}", hint=reason)
        require_program(self._application)
        if shutil.which(agent) is None:
            raise UnsupportedError("the agent must be a program", value=str(agent), hint="cargo build -p bayop-agent")
        self._agent, self._asked_qps, self._window_s = agent, qps, window_s
        self._patience_s, self._longest_us, self._schedule = patience_s, longest_us, schedule
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        try:
            self.folder = Path(self._stack.enter_context(TemporaryDirectory(prefix="bayop-live-")))
            self._pair = self._stack.enter_context(VethPair(self._schedule))
            self._served = self._pair.serve(self._application)
            self.service_pid = self._served.pid
            (self.folder / "state").mkdir(mode=0o700)
            self.start_agent()
            through = shlex.join([*self._schedule.clients(), *self._pair.client.command([])])
            application, live = self._application, self._application.live
            self.qps = self._asked_qps or (self._share_of_peak(live.share) if live else QPS)
            load = {"port": application.port, "protocol": application.protocol, "qps": self.qps}
            window_s = self._window_s or max(WINDOW_S, live.window_requests / self.qps if live else 0.0)
            times = {"window_s": window_s, "patience_s": self._patience_s}
            knobs = "".join(f"{json.dumps(knob)} = {json.dumps(values)}\n" for knob, values in self.knobs.items())
            own = {"timeout_s": _TIMEOUT_S, **application.load}
            more = "".join(f"{key} = {json.dumps(value)}\n" for key, value in own.items())
            self.file = self._write("live.toml", _LIVE, through=through, knobs=knobs, more=more, **load, **times)
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _share_of_peak(self, share: float) -> float:
        """Of what a closed loop shows that the application answers at most, in requests/s."""
        result = self._pair.load(self._application, "--closed-loop", "-w", "0.5s", "-t", f"{_PEAK_S:g}s")
        peak_qps = result["counts"]["answered"] / result["duration_s"]
        return float(f"{share * peak_qps:.2g}")

    @property
    def description(self) -> str:
        """What it is, for people."""
        return f"this machine, agent {self.address}"

    @property
    def device(self) -> str:
        """The server's device."""
        return self._pair.device

    @property
    def address(self) -> str:
        """Where the agent answers."""
        return f"unix:{self.folder}/agent.sock"

    @property
    def load(self) -> Load:
        """What its file has its clients send."""
        load = LiveFile.read(self.file).load
        assert load is not None  # noqa: S101 -- its file has one
        return load

    @property
    def knobs(self) -> Mapping[str, str]:
        """What is searched, as its file has it: in the application's ranges, where it has any for these knobs."""
        own = {
            GRO_FLUSH_TIMEOUT_US: f"0:{self._longest_us or LONGEST_US}:10",
            DEFER_HARD_IRQS: f"1:{MOST_POLLS}",
        }
        asked = {GRO_FLUSH_TIMEOUT_US: ALL} if self._longest_us else {}
        chosen = {knob: values for knob, values in {**self._application.knobs, **asked}.items() if values != ALL}
        return {knob: chosen.get(knob, values) for knob, values in own.items()}

    @property
    def client(self) -> AgentClient:
        """The agent."""
        return AgentClient.at(self.address)

    def service(self) -> Service:
        """What it serves, and a power that is that of this machine if nothing else ran here.

        The server's device is polled where packets are sent to it, or by a timer: not in the service's time. That of
        the clients is polled where the service sends, and counts as the service's.

        Raises:
            UnsupportedError: the kernel does not count the polls of a device for us.
        """
        polls = self._stack.enter_context(polls_of(self.device))
        model = PowerModel(**_POWERS_W, cpus=os.cpu_count() or 1, polls=polls, poll_s=_POLL_S)
        return Service(self.service_cpu_s, model, self._served.counted)

    def service_cpu_s(self) -> float:
        """Processor time that the service has taken, in s.

        Raises:
            UnsupportedError: it has ended.
        """
        return self._served.cpu_s()

    def served(self) -> int:
        """How many requests memcached has answered until now, by its own count.

        Raises:
            UnsupportedError: it has ended.
        """
        return self._pair.memcached_requests()

    def polls(self) -> int:
        """NET_RX softirqs of all CPUs of this machine."""
        return net_rx_softirqs(Path("/proc/softirqs").read_text(encoding="ascii"))

    def energy_j(self) -> None:
        """Nothing measures what a part of this machine draws."""

    def log(self) -> str:
        """What the agent has said."""
        return (self.folder / "agent.log").read_text(encoding="utf-8")

    def attributes(self) -> dict[str, str]:
        """What is in effect: every attribute of the server's device that the kernel shows, but for counters.

        Returns:
            Their text by their path below the device's folder, such as `queues/rx-0/rps_cpus`.
        """
        # What a device does not support can't be read, and grep says so by its exit code.
        show = f"cd /sys/class/net/{self.device}/ && grep --recursive --no-messages --exclude-dir=statistics . * ; true"
        lines = _output(self._inside(["sh", "-c", show])).splitlines()
        attributes: dict[str, str] = {}
        for path, _, text in (line.partition(":") for line in lines):
            attributes[path] = f"{attributes[path]}\n{text}" if path in attributes else text
        return attributes

    def defer(self, *, gro_flush_timeout_us: int, defer_hard_irqs: int) -> None:
        """Changes what the machine has of its own, behind the agent's back."""
        self._pair.defer(gro_flush_timeout_us=gro_flush_timeout_us, defer_hard_irqs=defer_hard_irqs)

    def restore(self) -> None:
        """Restores from the journal what a killed agent has left, as systemd does with the package's unit."""
        _output(self._inside([str(self._agent), "restore", "--config", str(self.folder / "agent.toml")]))

    def start_agent(self) -> None:
        """Starts the agent, for the first time or after its end; it restores what an earlier one has left.

        Raises:
            UnsupportedError: it does not start.
        """
        config = self._write("agent.toml", _AGENT, group=grp.getgrgid(os.getegid()).gr_name, **_POWERS_W)
        config.chmod(0o600)
        words = self._inside([str(self._agent), "serve", "--config", str(config)])
        with (self.folder / "agent.log").open("wb") as log:
            process = start(words, log=log)
        # It restores what it has changed.
        self._stack.callback(end, process, within_s=_START_S)
        ends = time.monotonic() + _START_S
        while True:
            try:
                self.client.status()
            except UnreachableError:
                if time.monotonic() > ends or process.poll() is not None:
                    hint = LastWords.of(self.log()).wrong
                    raise UnsupportedError(wrong="the agent does not start", hint=hint) from None
                time.sleep(0.02)
            else:
                self.agent_pid = process.pid
                return

    def _inside(self, words: Sequence[str]) -> list[str]:
        """The command that runs `words` on the server."""
        # sysfs shows the devices of the namespace that it was mounted in.
        own_sysfs = ["unshare", "--mount", "sh", "-c", 'mount -t sysfs none /sys && exec "$@"', "sh"]
        return self._pair.server.command([*own_sysfs, *words])

    def _write(self, name: str, template: str, **values: object) -> Path:
        path = self.folder / name
        words = {"folder": self.folder, "device": self.device, "server": SERVER_ADDRESS}
        words |= {"timeout": GRO_FLUSH_TIMEOUT_US, "deferral": DEFER_HARD_IRQS}
        path.write_text(template.format(**words, **values), encoding="utf-8")
        return path


def _output(words: Sequence[str]) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout  # noqa: S603 -- our words
