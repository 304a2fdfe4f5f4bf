"""Builds what a machine boots: kernel, ACPI table and the base system's archive."""

from __future__ import annotations

import lzma
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.cache import cached
from lab.errors import LabError
from lab.files import Files
from lab.modules import parse_list, with_dependencies
from lab.packages import LAB, TREE, headers, kernel_release, program, require, tool

_GUEST = LAB / "guest"
_PLACES = {
    "boot": "/usr/lib/lab/boot",
    "network": "/usr/lib/lab/network",
    "start": "/usr/lib/lab/start",
    "ready": "/usr/lib/lab/ready",
    "suspend": "/usr/lib/lab/suspend",
    "command-channel": "/usr/lib/lab/command-channel",
    "inittab": "/etc/inittab",
    "modules": "/etc/lab/modules",
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


def build(progress: Callable[[str], None]) -> Images:
    """Builds what is not there yet; `progress` is told each step that takes a while."""
    require()
    module = _powercap_module(progress)
    return Images(kernel=_kernel(progress), base=_base(module, progress), acpi_table=_acpi_table(progress))


def _run(command: Sequence[str | Path], *, cwd: Path | None = None) -> None:
    run = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        tail = "\n".join((run.stdout + run.stderr).strip().splitlines()[-20:])
        raise LabError(wrong=f"{Path(command[0]).name} failed:\n{tail}", place=" ".join(map(str, command)))


def _kernel(progress: Callable[[str], None]) -> Path:
    """Debian's kernel, unpacked on the host: without hardware virtualization the guest takes seconds for that.

    A bzImage ends with the compressed ELF file (kernel document arch/x86/boot, "payload_offset"); QEMU boots that file
    through its PVH entry point.
    """
    image = TREE / "boot" / f"vmlinuz-{kernel_release()}"

    def make(folder: Path) -> None:
        progress("unpacking the kernel")
        content = image.read_bytes()
        start = content.find(b"\xfd7zXZ\x00")
        if start < 0:
            raise LabError(
                "Debian's kernel must be packed with xz", wrong="the kernel is packed in another way", place=str(image)
            )
        (folder / "vmlinux").write_bytes(lzma.LZMADecompressor().decompress(content[start:]))

    return cached("kernel", [image], make) / "vmlinux"


def _acpi_table(progress: Callable[[str], None]) -> Path:
    source = LAB / "hardware" / "server.asl"

    def make(folder: Path) -> None:
        progress("compiling the ACPI table")
        _run([tool("iasl"), "-p", folder / "server", source])

    return cached("acpi", [source], make) / "server.aml"


def _powercap_module(progress: Callable[[str], None]) -> Path:
    sources = sorted((LAB / "hardware" / "powercap").iterdir())
    release = kernel_release()

    def make(folder: Path) -> None:
        progress("compiling the powercap module")
        for source in sources:
            shutil.copy(source, folder)
        _run([tool("make"), "-C", headers(release), f"M={folder}", "modules"])

    return cached("powercap", [release, *sources], make) / "lab_powercap.ko"


def _base(module: Path, progress: Callable[[str], None]) -> Path:
    guest_files = [_GUEST / name for name in _PLACES]
    programs = {name: program(name) for name in _PROGRAMS}

    def make(folder: Path) -> None:
        progress("packing the base system")
        files = Files(links=_applets(programs["busybox"]), folders=_FOLDERS)
        for name, place in _PLACES.items():
            files.add(place, _GUEST / name, mode=(_GUEST / name).stat().st_mode & 0o777)
        for name, place in _PROGRAMS.items():
            files.add_program(place, programs[name])
        _add_modules(files, module, folder / "modules")
        files.write_archive(folder / "base.cpio")
        shutil.rmtree(folder / "modules")

    inputs: list[str | Path] = [Path(__file__), *guest_files, *programs.values(), module, kernel_release()]
    return cached("base", inputs, make) / "base.cpio"


def _applets(busybox: Path) -> dict[str, str]:
    """A link for every command of busybox, and /init for the kernel."""
    run = subprocess.run([busybox, "--list-full"], capture_output=True, text=True, check=True)
    applets = [f"/{name}" for name in run.stdout.split()]
    return {link: "/bin/busybox" for link in [*applets, "/init"] if link != "/bin/busybox"}


def _add_modules(files: Files, powercap: Path, work: Path) -> None:
    """The modules of `guest/modules` with an index of their own, so that the guest's modprobe finds no other."""
    release = kernel_release()
    kernel_modules = next(path for path in (TREE / "usr/lib/modules", TREE / "lib/modules") if path.is_dir()) / release
    every = work / "lib" / "modules" / release
    shutil.copytree(kernel_modules, every)
    (every / "extra").mkdir()
    shutil.copy(powercap, every / "extra")
    _run([tool("depmod"), "--basedir", work, release])
    names = parse_list((_GUEST / "modules").read_text(encoding="utf-8"))
    needs = set(with_dependencies(names, modules_dep=(every / "modules.dep").read_text(encoding="utf-8")))
    for path in [p for p in every.rglob("*.ko*") if str(p.relative_to(every)) not in needs]:
        path.unlink()
    _run([tool("depmod"), "--basedir", work, release])
    for path in [*every.rglob("*.ko*"), *every.glob("modules.*")]:
        files.add(f"/lib/modules/{release}/{path.relative_to(every)}", path)
