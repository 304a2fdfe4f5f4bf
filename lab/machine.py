"""One emulated server: boot it, run commands in it, cut its power."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from lab.build import Images, build
from lab.channel import Channel, ChannelClosedError, NoAnswerError
from lab.commands import CommandResult, run
from lab.errors import CommandError, LabError
from lab.files import Files
from lab.kernel import Kernel
from lab.packages import require, tool
from lab.qemu import Ports, command_line, forward_command, parse_port, parse_ports

_BOOT_TIMEOUT_S = 100
_BOOT_TRIES = 2
"""Under emulation a kernel was seen to hang early in its boot, once in a long while; the next one does not."""
_MONITOR_TIMEOUT_S = 10
_PORTS_COMMAND = "info usernet"
_DISK_MIB = 64
_POLL_S = 0.01
_SHOWN_LINES = 50  # a kernel's panic is shorter


class Machine:
    """An emulated server; as a context manager it is booted, and gone afterwards with all that it wrote.

    Args:
        files: What it has on top of the base system, such as the agent. An executable /etc/lab/start is started.
        terminal: Its console is this terminal, for a person; else it is kept in a file, for error messages.
        progress: Told about every step of building that takes a while.
        kernel: In place of the lab's own.
        in_turns: Its CPUs are emulated in turns, by one thread: slower, but QEMU does not always follow a kernel that
            patches its own code on several (Linux 6.12 died of an int3 when a tracepoint came and went).
        tap: A device that QEMU makes on the host, as root, for the other end of a second network card: virtio-net with
            a pair of queues for each CPU, over which it spreads by an indirection table.
    """

    def __init__(
        self,
        *,
        files: Files | None = None,
        terminal: bool = False,
        progress: Callable[[str], None] = lambda _: None,
        kernel: Kernel | None = None,
        in_turns: bool = False,
        tap: str | None = None,
    ) -> None:
        require()
        self._kernel = kernel
        self._in_turns = in_turns
        self._tap = tap
        self.ports = Ports()
        self._files = files or Files()
        self._terminal = terminal
        self._progress = progress
        self._temporary = tempfile.TemporaryDirectory(prefix="bayop-lab-")
        self._folder = Path(self._temporary.name)
        self._qemu: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None

    def __enter__(self) -> Self:
        try:
            self.boot()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def boot(self) -> None:
        """Switches the machine on and returns when it serves: its network is up and memcached listens.

        Raises:
            UnsupportedError: The host lacks something.
            LabError: A step of the boot failed; with the console's last lines.
        """
        images = build(self._progress, kernel=self._kernel)
        disk = self._folder / "disk.img"
        if not disk.exists():
            _make_disk(disk)
        extra = self._folder / "extra.cpio"
        self._files.write_archive(extra)
        (self._folder / "initrd.cpio").write_bytes(images.base.read_bytes() + extra.read_bytes())
        for tries_left in reversed(range(_BOOT_TRIES)):
            try:
                self._wait_until_up(self._switch_on(images))
            except NoAnswerError as error:
                if not tries_left:
                    raise self._with_console(error) from None
                self._switch_off()
            except LabError as error:
                raise self._with_console(error) from None
            else:
                return

    def _switch_on(self, images: Images) -> subprocess.Popen[bytes]:
        with (self._folder / "qemu.log").open("wb") as log:
            self._qemu = subprocess.Popen(
                command_line(
                    images, self._folder, self.ports, terminal=self._terminal, in_turns=self._in_turns, tap=self._tap
                ),
                stdin=None if self._terminal else subprocess.DEVNULL,
                stderr=log,
            )
        return self._qemu

    def power_cut(self) -> None:
        """Takes the power away and boots again: the disk (/var/lib) and the ports stay, all else starts anew.

        What programs had not made the kernel write (fsync) is lost, as on a real machine.
        """
        self._switch_off()
        self.boot()

    def shut_down(self, *, timeout_s: float = 30) -> None:
        """Has the guest shut down in good order, and waits until it is off; `boot` switches it on again."""
        self.run("poweroff")
        try:
            self.wait(timeout_s=timeout_s)
        except subprocess.TimeoutExpired:
            error = LabError(wrong=f"the guest was not down after {timeout_s:g} s", value=f"over {timeout_s:g} s")
            raise self._with_console(error) from None
        self._switch_off()

    def wait(self, *, timeout_s: float | None = None) -> None:
        """Waits until the machine is off, whoever switches it off."""
        if self._qemu is not None:
            self._qemu.wait(timeout_s)

    def close(self) -> None:
        """Takes the power away and removes the machine with its disk."""
        self._switch_off()
        self._temporary.cleanup()

    def run(
        self, command: str, *, stdin: str | bytes = b"", timeout_s: float = 30, check: bool = True
    ) -> CommandResult:
        """Has a shell of the guest execute a command, as root; needs no network, and several threads may call it.

        A process that is to stay has to send its output elsewhere (`sleep 9 >/dev/null 2>&1 &`): a command ends when
        nobody holds its output any more.

        Raises:
            CommandError: `check` is set and the exit code is not 0; or the command, which is then killed with all of
                its children, took longer than `timeout_s`.
        """
        if self._channel is None:
            raise _is_off()
        try:
            result = run(
                self._channel, command, stdin=stdin.encode() if isinstance(stdin, str) else stdin, timeout_s=timeout_s
            )
        except ChannelClosedError as error:
            raise self._with_console(error) from None
        if check and result.exit_code != 0:
            wrong = f"a command in the guest ended with exit code {result.exit_code}: {result.stderr.strip()}"
            raise CommandError(wrong=wrong, place=command)
        return result

    def read(self, path: str) -> str:
        """The content of a file in the guest, without the white space around it: what a sysfs file says."""
        return self.run(f"cat '{path}'").stdout.strip()

    def write(self, path: str, content: str | bytes) -> None:
        """Fills a file in the guest; with a short content in one system call, as sysfs wants it."""
        self.run(f"cat > '{path}'", stdin=content)

    def forward(self, port: int) -> int:
        """Has a free port of 127.0.0.1 lead to a TCP port of the guest, until its power is cut; which that is."""
        if self._qemu is None:
            raise _is_off()
        deadline = time.monotonic() + _MONITOR_TIMEOUT_S
        refused, ports = self._monitor(self._qemu, deadline, forward_command(port), _PORTS_COMMAND)
        if refused.strip():
            raise LabError(wrong=f"QEMU does not forward port {port}: {refused.strip()}", value=port)
        return parse_port(ports, port)

    def remove_nic(self) -> None:
        """Takes the network card out (PCI hot removal)."""
        self.run("echo 1 > /sys/class/net/eth0/device/remove")

    def restore_nic(self) -> None:
        """Puts the network card back and waits until it has its address and a link."""
        self.run("echo 1 > /sys/bus/pci/rescan && /usr/lib/lab/network && /usr/lib/lab/ready")

    def suspend(self, duration_s: int, *, timeout_s: float = 300) -> None:
        """Has the guest sleep, and returns when it is awake again: later than asked where it is emulated slowly."""
        console = self._folder / "console.log"
        seen = console.stat().st_size
        # Nobody answers meanwhile, and what is under way on the command channel would be lost.
        self.run(f"/usr/lib/lab/suspend {duration_s} >/dev/null 2>&1 &")
        deadline = time.monotonic() + timeout_s
        while b"awake again" not in console.read_bytes()[seen:]:
            if time.monotonic() > deadline:
                raise self._with_console(LabError(wrong=f"the guest was not awake after {timeout_s:g} s"))
            time.sleep(_POLL_S)

    def _wait_until_up(self, qemu: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _BOOT_TIMEOUT_S
        (ports,) = self._monitor(qemu, deadline, _PORTS_COMMAND)
        self.ports = parse_ports(ports)
        self._channel = _connect(self._folder / "guest-agent", qemu, deadline)
        self._channel.execute("guest-ping", timeout_s=deadline - time.monotonic())
        failures = self.run("cat /run/lab/failed", check=False).stdout.split("\n")
        if any(failures):
            raise LabError(
                wrong=f"the guest's boot failed at: {', '.join(filter(None, failures))}",
                value=", ".join(filter(None, failures)),
            )

    def _monitor(self, qemu: subprocess.Popen[bytes], deadline: float, *commands: str) -> list[str]:
        """Has QEMU's monitor execute commands, and returns what each has printed."""
        monitor = _connect(self._folder / "qmp", qemu, deadline)
        try:
            monitor.execute("qmp_capabilities")
            return [monitor.execute("human-monitor-command", {"command-line": command}) for command in commands]
        finally:
            monitor.close()

    def _with_console(self, error: LabError) -> LabError:
        """The same error with the last lines that QEMU and the guest's console showed."""
        logs = [self._folder / name for name in ("qemu.log", "console.log")]
        lines = [x for log in logs if log.exists() for x in log.read_text(errors="replace").splitlines()]
        last = [line for line in lines if line.strip() and "TCG doesn't support" not in line][-_SHOWN_LINES:]
        tail = "\n".join(["; the console's last lines:", *last]) if last else ""
        return error.but(wrong=f"{error.wrong}{tail}")

    def _switch_off(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._qemu is not None:
            self._qemu.kill()
            self._qemu.wait()
            self._qemu = None
        for socket in ("qmp", "guest-agent"):
            (self._folder / socket).unlink(missing_ok=True)


def _is_off() -> LabError:
    return LabError(wrong="the machine is off", hint="boot() comes first")


def _make_disk(image: Path) -> None:
    with image.open("wb") as file:
        file.truncate(_DISK_MIB << 20)
    subprocess.run([tool("mkfs.ext4"), "-q", str(image)], check=True, capture_output=True)


def _connect(path: Path, qemu: subprocess.Popen[bytes], deadline: float) -> Channel:
    """Connects to a socket that QEMU is about to create."""
    while True:
        try:
            return Channel(path)
        except OSError:
            if qemu.poll() is not None or time.monotonic() > deadline:
                raise ChannelClosedError(wrong="QEMU does not start") from None
            time.sleep(_POLL_S)
