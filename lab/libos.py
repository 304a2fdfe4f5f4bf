"""The library OS (docs/libos.md) in an emulated machine; `bayop libos run` boots it for people.

>>> from lab.libos import LibraryOs
>>> with LibraryOs("app=memcached") as machine:  # doctest: +SKIP
...     machine.address(11211)
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Final, Self

from bayop.errors import InputError, UnsupportedError
from lab.channel import Channel
from lab.errors import LabError
from lab.packages import LAB, tool


@dataclass(frozen=True)
class Service:
    """What it serves.

    Args:
        name: As its words have it (`app=`).
        port: Where it listens.
        protocol: That of its clients, as `bayop load` calls it.
        load: What `bayop load` is told of that.
    """

    name: str
    port: int
    protocol: str
    load: str


SERVICES: Final = {
    service.name: service
    for service in (
        Service("memcached", 11211, "memcached", "--protocol memcached"),
        Service("hello", 80, "http", "--protocol http"),
        Service("echo", 7, "echo", "--protocol echo"),
        Service("tpcc", 11311, "memcached-binary", "--binary --noload"),
    )
}
"""What it can serve, memcached unless another is named."""

NICS: Final = {"virtio-net": "virtio-net-pci", "e1000e": "e1000e"}
"""What its NIC may be, as QEMU calls it. Interrupts of an e1000e can be delayed (`delay=`)."""

AGENT_PORT: Final = 9617
"""Where its agent answers, if its words ask for one (`agent=on`)."""

UDP_PORT: Final = SERVICES["memcached"].port
"""Where memcached takes datagrams, if its words ask for that (`udp=on`)."""

MOST_CORES: Final = 16
"""So many serve at most (`cores=`), each with a pair of the NIC's queues: by a tap device alone."""

TAP_ADDRESS: Final = "10.208.0.2"
"""Of a machine that clients reach by a tap device."""

HOST_ADDRESS: Final = "10.208.0.1"
"""Theirs."""

MACHINE_SOCKET: Final = "machine"
LINK_SOCKET: Final = "link"
"""Where the machine's frames come from, and where they go, in the folder `frames`."""

_USER_ADDRESS: Final = "10.0.2.15"
_TAP: Final = "libos0"
_REFUSED: Final = re.compile(r'^error: (?P<rule>.*), but got "(?P<word>.*)"', re.MULTILINE)
"""What it says of a word that it does not know."""

_BOOT_TIMEOUT_S: Final = 30
_POLL_S: Final = 0.005


def cores_of(words: str) -> int:
    """How many cores are to serve; one where the words don't say it as they must."""
    said = [word.removeprefix("cores=") for word in words.split() if word.startswith("cores=")]
    return int(said[-1]) if said and said[-1] in map(str, range(1, MOST_CORES + 1)) else 1


def memory_mib(words: str) -> int:
    """What the machine has: what items are to take (`memory=`), or TPC-C's rows, and a reserve for each core."""
    said = [word.removeprefix("memory=") for word in words.split() if word.startswith("memory=")]
    items_mib = int(said[-1]) if said and re.fullmatch(r"\d{1,5}", said[-1], re.ASCII) else 64
    return 192 * cores_of(words) + max(64 * cores_of(words), items_mib)


def takes_udp(words: str) -> bool:
    """Whether memcached is to take datagrams."""
    return "udp=on" in words.split()


def image(profile: str = "release", name: str = "libos") -> Path:
    """The image that `make libos` builds; that of profile `lines` is of `make libos-lines`, another one of its name.

    Raises:
        UnsupportedError: It is not built.
    """
    path = Path(os.environ.get("CARGO_TARGET_DIR", LAB.parent / "target")) / "libos" / profile / name
    if not path.exists():
        hint = f"make {name}" if profile == "release" else f"make libos-{profile}"
        raise UnsupportedError(wrong="the library OS is not built", hint=hint)
    return path


def command_line(
    words: str,
    folder: Path,
    *,
    nic: str = "virtio-net",
    inside: Sequence[str] = (),
    frames: Path | None = None,
    arguments: Sequence[str] = (),
    kernel: Sequence[str] = (),
) -> Sequence[str]:
    """How to start the machine: as many CPUs as cores are to serve, no hardware virtualization.

    Args:
        words: What the library OS is told, without its address.
        folder: QEMU creates `console.log` and `qmp` in it.
        nic: One of `NICS`.
        inside: What starts a program in the network namespace with its tap device; nothing: QEMU's own network,
            which needs no privileges.
        frames: Where frames come and go instead, each a datagram: a folder of Unix sockets.
        arguments: More for QEMU.
        kernel: What it boots in place of the image: `-kernel` or `-cdrom`, and what goes with it.
    """
    cores = cores_of(words)
    device = f"{NICS[nic]},netdev=net,romfile="
    if cores > 1 and nic == "virtio-net":
        device += f",mq=on,vectors={2 * cores + 2}"  # for each queue, for the control queue, and for its configuration
    ports = [*(service.port for service in SERVICES.values()), AGENT_PORT]
    forwarded = [*(("tcp", port) for port in ports), *([("udp", UDP_PORT)] if takes_udp(words) else [])]
    forwards = ",".join(f"hostfwd={protocol}:127.0.0.1:0-{_USER_ADDRESS}:{port}" for protocol, port in forwarded)
    network, address = f"user,id=net,{forwards}", _USER_ADDRESS
    if inside:
        address = TAP_ADDRESS
        network = f"tap,id=net,ifname={_TAP},script=no,downscript=no,vhost=off"
        if cores > 1:
            network += f",queues={cores}"
    if frames is not None:
        address = TAP_ADDRESS
        ends = ("local", MACHINE_SOCKET), ("remote", LINK_SOCKET)
        network = ",".join(["dgram,id=net", *(f"{end}.type=unix,{end}.path={frames / name}" for end, name in ends)])
    qemu = [
        *(tool("qemu-system-x86_64"), "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"),
        *("-machine", "q35", "-accel", "tcg", "-cpu", "max", "-smp", str(cores), "-m", str(memory_mib(words))),
        *(kernel or ("-kernel", str(image()), "-append", f"ip={address} {words}")),
        *("-netdev", network, "-device", device),
        *("-serial", f"file:{folder / 'console.log'}"),
        *("-qmp", f"unix:{folder / 'qmp'},server=on,wait=off"),
        *arguments,
    ]
    # QEMU dies with the thread that started it.
    return [tool("setpriv"), "--pdeathsig", "KILL", *inside, *qemu]


class LibraryOs:
    """A machine that runs the library OS; as a context manager it is up, and gone afterwards.

    Args:
        words: What it is told (docs/libos.md), without its address.
        nic: One of `NICS`.
        inside: What starts a program in the network namespace where clients are, such as `nsenter --net=FILE`; they
            reach it by a tap device. Nothing: clients are here, and reach it through QEMU.
        frames: A folder of Unix sockets, `LINK_SOCKET` among them, by which somebody brings clients' frames and takes
            those for them, each as a datagram.
        ports: More of ours by which QEMU's own network leads to one of its, such as `{("tcp", 11211): 11211}`: who
            comes by them finds it serving.
        arguments: More for QEMU.
        kernel: What the machine boots in place of the image and `words`, as in `command_line`; its console must say
            `ready: ` once it serves.

    Raises:
        InputError: On entering: it does not know one of the words.
        LabError: On entering: it does not start.
    """

    def __init__(
        self,
        words: str = "",
        *,
        nic: str = "virtio-net",
        inside: Sequence[str] = (),
        frames: Path | None = None,
        ports: Mapping[tuple[str, int], int] = MappingProxyType({}),
        arguments: Sequence[str] = (),
        kernel: Sequence[str] = (),
    ) -> None:
        self.boot_s = 0.0
        """From the start of QEMU to the first word that it serves."""
        self._words = words
        self._nic = nic
        self._inside = inside
        self._frames = frames
        self._more_ports = ports
        self._ports: Mapping[tuple[str, int], int] = {}
        self._arguments = arguments
        self._kernel = kernel
        self._temporary = tempfile.TemporaryDirectory(prefix="bayop-libos-")
        self._folder = Path(self._temporary.name)
        self._qemu: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self._boot()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def address(self, port: int, protocol: str = "tcp") -> str:
        """HOST:PORT of one of its ports, for clients."""
        return f"127.0.0.1:{self._ports[protocol, port]}" if self._ports else f"{TAP_ADDRESS}:{port}"

    @property
    def service(self) -> Service:
        """What it serves."""
        named = [word.removeprefix("app=") for word in self._words.split() if word.startswith("app=")]
        return SERVICES[named[-1] if named else "memcached"]

    @property
    def agent(self) -> str | None:
        """Where its agent is found, as `--agent` takes it; None where its words ask for none."""
        return f"http://{self.address(AGENT_PORT)}" if "agent=on" in self._words.split() else None

    @property
    def udp(self) -> str | None:
        """HOST:PORT where memcached takes datagrams; None where its words don't ask for that."""
        return self.address(UDP_PORT, "udp") if takes_udp(self._words) else None

    @property
    def console(self) -> str:
        """What it has said."""
        log = self._folder / "console.log"
        return log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""

    @property
    def is_up(self) -> bool:
        """Whether it still runs: a fault of it ends the machine."""
        return self._qemu is not None and self._qemu.poll() is None

    def wait(self) -> None:
        """Waits until the machine ends."""
        if self._qemu is not None:
            self._qemu.wait()

    def close(self) -> None:
        """Switches the machine off, and removes its files."""
        if self._qemu is not None:
            self._qemu.kill()
            self._qemu.wait()
        self._temporary.cleanup()

    def _boot(self) -> None:
        if self._inside:
            queues = " multi_queue" if cores_of(self._words) > 1 else ""
            for words in (
                f"ip tuntap add {_TAP} mode tap{queues}",
                f"ip address add {HOST_ADDRESS}/24 dev {_TAP}",
                f"ip link set {_TAP} up",
            ):
                subprocess.run([*self._inside, *words.split()], check=True, capture_output=True)
        command = command_line(
            self._words,
            self._folder,
            nic=self._nic,
            inside=self._inside,
            frames=self._frames,
            arguments=self._arguments,
            kernel=self._kernel,
        )
        start_s = time.monotonic()
        with (self._folder / "qemu.log").open("wb") as log:
            self._qemu = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        while "ready: " not in self.console:
            if not self.is_up or time.monotonic() > start_s + _BOOT_TIMEOUT_S:
                if refused := _REFUSED.search(self.console):
                    raise InputError(refused["rule"], value=refused["word"], hint="docs/libos.md#words has them all")
                said = self.console + (self._folder / "qemu.log").read_text(encoding="utf-8", errors="replace")
                raise LabError(wrong=f"the library OS does not start; it and QEMU said:\n{said.strip()}")
            time.sleep(_POLL_S)
        self.boot_s = time.monotonic() - start_s
        monitor = Channel(self._folder / "qmp")
        monitor.execute("qmp_capabilities")
        for (protocol, port), ours in self._more_ports.items():
            forward = f"hostfwd_add net {protocol}:127.0.0.1:{ours}-{_USER_ADDRESS}:{port}"
            if refusal := monitor.execute("human-monitor-command", {"command-line": forward}):
                raise LabError(wrong=f"QEMU does not lead to the library OS by port {ours}: {refusal.strip()}")
        usernet = monitor.execute("human-monitor-command", {"command-line": "info usernet"})
        monitor.close()
        rows = re.findall(r"(TCP|UDP)\[HOST_FORWARD\]\s+\d+\s+\S+\s+(\d+)\s+\S+\s+(\d+)", usernet)
        self._ports = {(protocol.lower(), int(guest)): int(host) for protocol, host, guest in rows}
