"""A server and its clients on one machine: two network namespaces, joined by a pair of virtual devices.

The server's device defers its interrupts as a NIC does: `gro_flush_timeout` and `napi_defer_hard_irqs` (Linux kernel,
Documentation/networking/napi.rst, "Software IRQ coalescing"), so that its latency really depends on a knob.

Namespaces and servers live as long as the process that made them, also when that is killed: the kernel ends what holds
them with it. Needs root.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, BinaryIO, Final, Self

from bayop.applications.definition import Application, find_application
from bayop.applications.scope import Scope, scope_of
from bayop.applications.serve import await_ready, prepare
from bayop.errors import UnsupportedError
from bayop.load.answered import read_memcached

SERVER_ADDRESS: Final = "10.207.0.1"
CLIENT_ADDRESS: Final = "10.207.0.2"

_AHEAD: Final = ("chrt", "--fifo", "1")
"""What starts a program ahead of whatever else this machine runs."""

_FIRST: Final = ("unshare", "--pid", "--fork", "--kill-child")
"""What starts a program as the first of a PID namespace, whose process it ends with."""

_PROGRAMS: Final = ("ip", "ethtool", "nsenter", "unshare", "setpriv", "chrt", "taskset")
_START_S: Final = 10.0
_NEEDED: Final = 1 << 12 | 1 << 21
"""CAP_NET_ADMIN and CAP_SYS_ADMIN (linux/capability.h)."""


def missing(programs: Sequence[str] = ()) -> str | None:
    """Why no pair can be made here, or some more programs not be run; None when all can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if not _has_capabilities():
        return "network namespaces need CAP_SYS_ADMIN and CAP_NET_ADMIN, which root does not have in this container"
    absent = [program for program in (*_PROGRAMS, *programs) if shutil.which(program) is None]
    wanted = " ".join(("iproute2 ethtool util-linux", *programs))
    return f"{', '.join(absent)} not installed: apt-get install {wanted}" if absent else None


def _has_capabilities() -> bool:
    """Whether this process may make namespaces and set up what is in them (capabilities(7); CapEff in proc(5))."""
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    effective = int(next(line for line in status.splitlines() if line.startswith("CapEff:")).split()[1], 16)
    return effective & _NEEDED == _NEEDED


@dataclass(frozen=True, slots=True)
class Schedule:
    """How the service and its clients get at this machine's processors.

    Attributes:
        is_ahead: Whether ahead of whatever else runs here (SCHED_FIFO, sched(7)): what spins on a lock may then keep
            from its processor what has it.
        service_cpus: The service's processors; None for all.
        client_cpus: Those of its clients.
    """

    is_ahead: bool = True
    service_cpus: Sequence[int] | None = None
    client_cpus: Sequence[int] | None = None

    def service(self) -> list[str]:
        """What starts the service."""
        return self._started_on(self.service_cpus)

    def clients(self) -> list[str]:
        """What starts its clients."""
        return self._started_on(self.client_cpus)

    def _started_on(self, cpus: Sequence[int] | None) -> list[str]:
        pinned = [] if cpus is None else ["taskset", "--cpu-list", ",".join(map(str, cpus))]
        return [*(_AHEAD if self.is_ahead else ()), *pinned]


AHEAD: Final = Schedule()
"""Ahead of whatever else this machine runs, on all of its processors."""


@dataclass(frozen=True, slots=True)
class Served:
    """An application that is served.

    Attributes:
        name: Its name.
        pid: Its process.
        scope: Its control group; None where it has none.
    """

    name: str
    pid: int
    scope: Scope | None

    def cpu_s(self) -> float:
        """Processor time that it, and all that it has started, have taken, in s.

        Raises:
            UnsupportedError: it has ended.
        """
        if self.scope is None:
            return process_cpu_s(self.pid, name=self.name)
        try:
            taken_s = self.scope.cpu_s()
        except OSError as error:
            raise _ended(self.name, error.strerror) from error
        if not self.scope.is_populated():
            raise _ended(self.name, "no process is left")
        return taken_s

    @property
    def counted(self) -> str:
        """Where that comes from, for people."""
        return "/proc, without what has ended" if self.scope is None else "cpu.stat of its control group"


class Namespace:
    """A network namespace, held by a process that sleeps in it."""

    def __init__(self) -> None:
        self._holder = start(["unshare", "--net", "sleep", "infinity"])
        own, ends = os.stat("/proc/self/ns/net").st_ino, time.monotonic() + _START_S  # noqa: PTH116 -- of a link's target
        while os.stat(self.path).st_ino == own:  # noqa: PTH116
            if time.monotonic() > ends or self._holder.poll() is not None:
                raise RuntimeError("unshare made no network namespace")
            time.sleep(0.005)

    @property
    def path(self) -> str:
        """The file that stands for it."""
        return f"/proc/{self._holder.pid}/ns/net"

    @property
    def holder_pid(self) -> int:
        """A process in it."""
        return self._holder.pid

    @property
    def number(self) -> int:
        """What no other namespace of this machine has at the time: its inode, whose first bits are those of all."""
        return os.stat(self.path).st_ino & 0xFFFFFFF  # noqa: PTH116 -- of a link's target

    def command(self, words: Sequence[str]) -> list[str]:
        """The command that runs `words` inside."""
        return ["nsenter", f"--net={self.path}", *words]

    def run(self, *words: str) -> None:
        """Runs a program inside and waits for it."""
        run = subprocess.run(self.command(words), capture_output=True, text=True, check=False)  # noqa: S603 -- our words
        if run.returncode != 0:
            raise RuntimeError(f"{' '.join(words)}: {run.stderr.strip()}")

    def close(self) -> None:
        """Lets it go; its devices go with it."""
        _end(self._holder)


class VethPair:
    """The pair, up and with addresses. TCP passes through NAPI on both sides: GRO is on, segmentation off.

    A packet leaves a veth device when its receiver takes it, not when it is on a wire. While it waits for a deferred
    interrupt, its sender's TCP would hold back the connection's next request to send more at once (ip-sysctl.rst,
    `tcp_autocorking`), and the wait would count twice. Behind a NIC it does not, so that is off.

    Args:
        schedule: How what runs here gets at the processors.

    Attributes:
        device: The server's device. No other pair on the machine has one of that name, since the kernel counts the
            polls of all devices of a name.
        client_device: That of its clients.
    """

    def __init__(self, schedule: Schedule = AHEAD) -> None:
        self._schedule = schedule
        self._stack = ExitStack()
        try:
            self.server, self.client = self._namespace(), self._namespace()
            number = self.server.number
            self.device, self.client_device = f"server{number:x}", f"client{number:x}"
            self.server.run(
                *f"ip link add {self.device} type veth peer name {self.client_device} netns".split(),
                str(self.client.holder_pid),
            )
            for namespace, device, address in (
                (self.server, self.device, SERVER_ADDRESS),
                (self.client, self.client_device, CLIENT_ADDRESS),
            ):
                namespace.run("ip", "address", "add", f"{address}/24", "dev", device)
                namespace.run("ip", "link", "set", device, "up")
                namespace.run("ethtool", "-K", device, "gro", "on", "tso", "off", "gso", "off")
                namespace.run("sh", "-c", "echo 0 >/proc/sys/net/ipv4/tcp_autocorking")
        except BaseException:
            self.close()
            raise

    def _namespace(self) -> Namespace:
        namespace = Namespace()
        self._stack.callback(namespace.close)
        return namespace

    def defer(self, *, gro_flush_timeout_us: int, defer_hard_irqs: int = 1) -> None:
        """Sets how long packets for the server wait; a timeout of 0 defers nothing."""
        folder = f"/sys/class/net/{self.device}"
        deferral = defer_hard_irqs if gro_flush_timeout_us else 0
        # sysfs shows the devices of the namespace that it was mounted in.
        script = (
            "mount -t sysfs none /sys && "
            f"echo {deferral} >{folder}/napi_defer_hard_irqs && "
            f"echo {gro_flush_timeout_us * 1000} >{folder}/gro_flush_timeout"
        )
        self.server.run("unshare", "--mount", "sh", "-c", script)

    def memcached(self, *, port: int = 11211) -> int:
        """Starts a memcached with one thread, as `serve` does, and returns its process id."""
        return self.serve(replace(find_application("memcached"), port=port)).pid

    def serve(self, application: Application) -> Served:
        """Starts an application in the server's namespace, by the schedule.

        Whatever it has started ends with it, since it is the first process of a PID namespace (pid_namespaces(7)).

        What it takes is counted in a control group of its own, where there can be one.

        Raises:
            UnsupportedError: it does not listen, or not serve.
        """
        folder = Path(self._stack.enter_context(TemporaryDirectory(prefix="bayop-app-")))
        commands = prepare(application, address=SERVER_ADDRESS, folder=folder)
        probe = self.client.command(["bash", "-c", f"</dev/tcp/{SERVER_ADDRESS}/{application.port}"])
        with tempfile.TemporaryFile() as log:
            scope = self._stack.enter_context(scope_of(application.name))
            words = commands.start if scope is None else scope.command(commands.start)
            process = start(self.server.command([*self._schedule.service(), *_FIRST, *words]), log=log)
            self._stack.callback(_end_first, process)

            def is_listening() -> bool:
                return subprocess.run(probe, capture_output=True, check=False).returncode == 0  # noqa: S603 -- our words

            def refusal(what: str, said: str | None) -> UnsupportedError:
                log.seek(0)
                own = log.read().decode(errors="replace").strip().splitlines()
                return UnsupportedError(wrong=f"{application.name} does not {what}", hint=own[-1] if own else said)

            ready = self.client.command(commands.ready) if commands.ready else ()
            await_ready(process, is_listening, ready, within_s=application.ready_within_s, refusal=refusal)
        return Served(application.name, next(iter(_children(process.pid)), process.pid), scope)

    def load(self, application: Application, *flags: str) -> dict[str, Any]:
        """Runs `bayop load` on eight connections from the client's namespace, and returns its result.

        Args:
            application: What is served.
            flags: What else it is told.

        Raises:
            UnsupportedError: nothing is answered.
        """
        words = [
            *self._schedule.clients(),
            sys.executable,
            "-m",
            "bayop",
            "load",
            "-s",
            f"{SERVER_ADDRESS}:{application.port}",
        ]
        words += [*application.load_flags, "-c", "8", "--blocking", "--json", *flags]
        run = subprocess.run(self.client.command(words), capture_output=True, text=True, check=False)  # noqa: S603 -- our words
        events = [json.loads(line) for line in run.stdout.splitlines()]
        if not events or events[-1]["event"] != "result" or not events[-1]["counts"]["answered"]:
            raise UnsupportedError(wrong=f"{application.name} answers nothing", hint=run.stderr.strip() or None)
        result: dict[str, Any] = events[-1]
        return result

    def memcached_requests(self, *, port: int = 11211) -> int:
        """How many reads and writes a memcached has answered until now (its own statistics).

        Raises:
            UnsupportedError: it does not answer.
        """
        script = f"exec 3<>/dev/tcp/{SERVER_ADDRESS}/{port}; printf 'stats\\r\\nquit\\r\\n' >&3; exec cat <&3"
        run = subprocess.run(  # noqa: S603 -- our words
            self.client.command(["bash", "-c", script]), capture_output=True, check=False
        )
        requests = read_memcached(run.stdout)
        if requests is None:
            hint = run.stderr.decode(errors="replace").strip()
            raise UnsupportedError(wrong="memcached ended before the experiment", hint=hint)
        return requests

    def close(self) -> None:
        """Ends the servers and lets the namespaces go."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def process_cpu_s(pid: int, *, name: str = "memcached") -> float:
    """Processor time that a process, and all that it has started, have taken (/proc/PID/task/TID/schedstat), in s.

    That of threads and processes that have ended is not in it.

    Args:
        pid: The process.
        name: What to call it.

    Raises:
        UnsupportedError: it has ended.
    """
    try:
        taken_s = _cpu_s(pid)
    except OSError as error:
        raise _ended(name, error.strerror) from error
    for child in _children(pid):
        # It may end meanwhile.
        with suppress(UnsupportedError):
            taken_s += process_cpu_s(child)
    return taken_s


def _ended(name: str, why: str | None) -> UnsupportedError:
    return UnsupportedError(wrong=f"{name} ended before the experiment ({why})", hint=why)


def _cpu_s(pid: int) -> float:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text(encoding="ascii").split()[0]) for task in tasks) / 1e9


def _children(pid: int) -> list[int]:
    """Processes that a process, or a thread of it, has started; none when it has ended."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in lists for child in _text(path).split()]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""


def start(words: Sequence[str], *, log: BinaryIO | int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    """A process that the kernel kills when its parent dies; prctl(2), PR_SET_PDEATHSIG.

    Args:
        words: Program and arguments.
        log: Where it says what it says.
    """
    return subprocess.Popen(  # noqa: S603 -- our words
        ["setpriv", "--pdeathsig", "KILL", *words],  # noqa: S607 -- the machine's own
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _end_first(process: subprocess.Popen[bytes]) -> None:
    """Ends what `_FIRST` has started, and with it its PID namespace."""
    first = _children(process.pid)
    for pid in first:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if not first:
        process.kill()
    process.wait()
