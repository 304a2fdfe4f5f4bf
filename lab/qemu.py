"""QEMU's command line for the lab's server, and the ports that it forwards."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from lab.build import Images
from lab.errors import LabError
from lab.packages import tool

CPUS = 2
_MEMORY_MIB = 512
_NETWORK = "net"
_GUEST_ADDRESS = "10.0.2.15"
_FORWARDED = (("tcp", 11211), ("udp", 11211), ("tcp", 9617))


@dataclass(frozen=True)
class Ports:
    """The ports of 127.0.0.1 that lead into the guest; 0 asks for any free one."""

    memcached: int = 0
    memcached_udp: int = 0
    agent: int = 0


def command_line(
    images: Images, folder: Path, ports: Ports, *, terminal: bool, in_turns: bool = False, tap: str | None = None
) -> Sequence[str]:
    """How to start the machine.

    Args:
        images: What it boots.
        folder: Its own folder, with `initrd.cpio` and `disk.img`; QEMU creates `console.log`, `qmp` and `guest-agent`.
        ports: Which ports of the host to forward.
        terminal: Its console is this terminal instead of `console.log`.
        in_turns: One thread emulates all CPUs.
        tap: The host's end of a second network card, with a pair of queues for each CPU; none without one.
    """
    forwards = ",".join(
        f"hostfwd={protocol}:127.0.0.1:{host}-{_GUEST_ADDRESS}:{guest}"
        for (protocol, guest), host in zip(_FORWARDED, astuple(ports), strict=True)
    )
    # Of what QEMU has, only a tap device brings several queues.
    queues = [
        *("-netdev", f"tap,id=queues,ifname={tap},queues={CPUS},script=no,downscript=no,vhost=off"),
        *("-device", f"virtio-net-pci,netdev=queues,mq=on,rss=on,vectors={2 * CPUS + 2}"),
    ]
    return [
        # QEMU dies with the thread that started it: no machine outlives a test run, however that ends.
        *(tool("setpriv"), "--pdeathsig", "KILL"),
        *(tool("qemu-system-x86_64"), "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"),
        # Never KVM, so that the lab is the same everywhere. An Intel model, because acpi-cpufreq refuses QEMU's default
        # one, an AMD K8.
        *("-machine", "q35", "-accel", f"tcg,thread={'single' if in_turns else 'multi'}", "-cpu", "Skylake-Server"),
        *("-smp", str(CPUS), "-m", str(_MEMORY_MIB)),
        *("-kernel", str(images.kernel), "-initrd", str(folder / "initrd.cpio")),
        *("-append", "console=ttyS0 quiet panic=-1"),
        *("-device", "pc-testdev", "-acpitable", f"file={images.acpi_table}"),
        *("-netdev", f"user,id={_NETWORK},{forwards}", "-device", f"e1000e,netdev={_NETWORK}"),
        *(queues if tap else ()),
        *("-drive", f"file={folder / 'disk.img'},format=raw,if=none,id=disk", "-device", "virtio-blk,drive=disk"),
        *("-chardev", f"socket,id=agent,path={folder / 'guest-agent'},server=on,wait=off"),
        *("-device", "virtio-serial", "-device", "virtserialport,chardev=agent,name=org.qemu.guest_agent.0"),
        *("-qmp", f"unix:{folder / 'qmp'},server=on,wait=off"),
        *("-serial", "mon:stdio" if terminal else f"file:{folder / 'console.log'}"),
    ]


def forward_command(guest: int) -> str:
    """The command of QEMU's monitor that forwards a free TCP port of 127.0.0.1 to one of the guest."""
    return f"hostfwd_add {_NETWORK} tcp:127.0.0.1:0-{_GUEST_ADDRESS}:{guest}"


def parse_ports(usernet: str) -> Ports:
    """The ports that every machine forwards, in what QEMU's monitor command `info usernet` prints."""
    host_port = _host_ports(usernet)
    if set(host_port) != set(_FORWARDED):
        raise LabError(wrong="QEMU does not forward the ports of memcached and of the agent", value=usernet)
    return Ports(*(host_port[key] for key in _FORWARDED))


def parse_port(usernet: str, guest: int) -> int:
    """The port that leads to a TCP port of the guest, in what `info usernet` prints."""
    port = _host_ports(usernet).get(("tcp", guest))
    if port is None:
        raise LabError(wrong=f"QEMU does not forward a port to the guest's {guest}", value=usernet)
    return port


def _host_ports(usernet: str) -> Mapping[tuple[str, int], int]:
    rows = re.findall(r"(TCP|UDP)\[HOST_FORWARD\]\s+\d+\s+\S+\s+(\d+)\s+\S+\s+(\d+)", usernet)
    return {(protocol.lower(), int(guest)): int(host) for protocol, host, guest in rows}
