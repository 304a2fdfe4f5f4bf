"""Builds what a machine boots: kernel, ACPI table and the base system's archive."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.cache import cached
from lab.errors import LabError
from lab.files import Files
from lab.kernel import Kernel, own
from lab.modules import built_in, module_name, modules_of, parse_list, with_dependencies
from lab.packages import LAB, program, require, tool

_GUEST = LAB / "guest"
_PLACES = {
    "boot": "/usr/lib/lab/boot",
    "network": "/usr/lib/lab/network",
    "start": "/usr/lib/lab/start",
    "ready": "/usr/lib/lab/ready",
    "suspend": "/usr/lib/lab/suspend",
    "command-channel": "/usr/lib/lab/command-channel",
    "inittab": "/etc/inittab",
    "passwd": "/etc/passwd",
    "group": "/etc/group",
    "profile": "/etc/profile",
}
_PROGRAMS = {
    "busybox": "/bin/busybox",
    "ethtool": "/usr/sbin/ethtool",
    "memcached": "/usr/bin/memcached",
    "qemu-ga": "/usr/sbin/qemu-ga",
    "nc.openbsd": "/usr/bin/nc.openbsd",
}
_FOLDERS = ["/proc", "/sys", "/dev", "/run", "/tmp", "/root", "/var/lib", "/var/log"]  # noqa: S108 - the guest's


@dataclass(frozen=True)
class Images:
    """What QEMU is given."""

    kernel: Path
    base: Path
    acpi_table: Path


def build(progress: Callable[[str], None], *, kernel: Kernel | None = None) -> Images:
    """Builds what is not there yet.

    Args:
        progress: Told each step that takes a while.
        kernel: In place of the lab's own.
    """
    require()
    kernel = kernel or own()
    module = _powercap_module(kernel, progress)
    return Images(
        kernel=_kernel(kernel, progress), base=_base(kernel, module, progress), acpi_table=_acpi_table(progress)
    )


def _run(command: Sequence[str | Path], *, cwd: Path | None = None) -> None:
    run = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        tail = "\n".join((run.stdout + run.stderr).strip().splitlines()[-20:])
        raise LabError(wrong=f"{Path(command[0]).name} failed:\n{tail}", place=" ".join(map(str, command)))


def _kernel(kernel: Kernel, progress: Callable[[str], None]) -> Path:
    """The kernel, unpacked on the host: without hardware virtualization the guest takes seconds for that.

    QEMU boots the ELF file through its PVH entry point.
    """

    def make(folder: Path) -> None:
        progress("unpacking the kernel")
        (folder / "vmlinux").write_bytes(kernel.unpacked())

    return cached("kernel", [kernel.image], make) / "vmlinux"


def _acpi_table(progress: Callable[[str], None]) -> Path:
    source = LAB / "hardware" / "server.asl"

    def make(folder: Path) -> None:
        progress("compiling the ACPI table")
        _run([tool("iasl"), "-p", folder / "server", source])

    return cached("acpi", [source], make) / "server.aml"


def _powercap_module(kernel: Kernel, progress: Callable[[str], None]) -> Path | None:
    """None where nothing is there to build it with."""
    if not kernel.headers.is_dir():
        return None
    sources = sorted((LAB / "hardware" / "powercap").iterdir())

    def make(folder: Path) -> None:
        progress("compiling the powercap module")
        for source in sources:
            shutil.copy(source, folder)
        # Types for BTF would take a program more, and nothing asks for this module's.
        _run([tool("make"), "-C", kernel.headers, f"M={folder}", "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"])

    return cached("powercap", [kernel.release, *sources], make) / "lab_powercap.ko"


def _base(kernel: Kernel, module: Path | None, progress: Callable[[str], None]) -> Path:
    guest_files = [_GUEST / "modules", *(_GUEST / name for name in _PLACES)]
    programs = {name: program(name) for name in _PROGRAMS}

    def make(folder: Path) -> None:
        progress("packing the base system")
        files = Files(links=_applets(programs["busybox"]), folders=_FOLDERS)
        for name, place in _PLACES.items():
            files.add(place, _GUEST / name, mode=(_GUEST / name).stat().st_mode & 0o777)
        for name, place in _PROGRAMS.items():
            files.add_program(place, programs[name])
        _add_modules(files, kernel, module, folder / "modules")
        files.write_archive(folder / "base.cpio")
        shutil.rmtree(folder / "modules")

    inputs: list[str | Path] = [
        Path(__file__),
        *guest_files,
        *programs.values(),
        kernel.release,
        *([module] if module else []),
    ]
    return cached("base", inputs, make) / "base.cpio"


def _applets(busybox: Path) -> dict[str, str]:
    """A link for every command of busybox, and /init for the kernel."""
    run = subprocess.run([busybox, "--list-full"], capture_output=True, text=True, check=True)
    applets = [f"/{name}" for name in run.stdout.split()]
    return {link: "/bin/busybox" for link in [*applets, "/init"] if link != "/bin/busybox"}


def _add_modules(files: Files, kernel: Kernel, powercap: Path | None, work: Path) -> None:
    """The modules of `guest/modules` with an index of their own, so that the guest's modprobe finds no other."""
    every = work / "lib" / "modules" / kernel.release
    shutil.copytree(kernel.modules, every)
    if powercap is not None:
        (every / "extra").mkdir()
        shutil.copy(powercap, every / "extra")
    _run([tool("depmod"), "--basedir", work, kernel.release])
    inside = built_in((every / "modules.builtin").read_text(encoding="utf-8"))
    modules_dep = (every / "modules.dep").read_text(encoding="utf-8")
    listed = parse_list((_GUEST / "modules").read_text(encoding="utf-8"), has=inside | modules_of(modules_dep))
    files.add("/etc/lab/modules", "".join(f"{when} {name}\n" for when, name in listed))
    names = [name for _, name in listed if module_name(name) not in inside]
    needs = set(with_dependencies(names, modules_dep=modules_dep))
    for path in [p for p in every.rglob("*.ko*") if str(p.relative_to(every)) not in needs]:
        path.unlink()
    _run([tool("depmod"), "--basedir", work, kernel.release])
    for path in [*every.rglob("*.ko*"), *every.glob("modules.*")]:
        files.add(f"/lib/modules/{kernel.release}/{path.relative_to(every)}", path)
