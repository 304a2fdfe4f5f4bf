"""Files for the guest, and the cpio archives that bring them there.

The kernel unpacks a row of archives one after the other (kernel document driver-api/early-userspace/buffer-format):
the first holds the base system, a second one what differs from boot to boot, such as the agent under test.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from lab.errors import LabError
from lab.packages import TREE, tool

LOADER = "/lib64/ld-linux-x86-64.so.2"
LIBRARY_FOLDER = "/lib/x86_64-linux-gnu"


@dataclass
class Files:
    """Files, links and folders by their absolute path in the guest; methods return the same object, so calls chain."""

    contents: dict[str, tuple[Path | bytes, int]] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)

    def add(self, guest_path: str, content: Path | bytes | str, *, mode: int = 0o644) -> Files:
        """A file with this content, or with the content of a file of the host."""
        if not PurePosixPath(guest_path).is_absolute():
            raise LabError("a file's place in the guest must be an absolute path", value=guest_path)
        self.contents[guest_path] = (content.encode() if isinstance(content, str) else content, mode)
        return self

    def add_program(self, guest_path: str, source: Path) -> Files:
        """An executable of the host, with the shared libraries that it needs."""
        for name, library in libraries(source).items():
            self.add(LOADER if library.name == Path(LOADER).name else f"{LIBRARY_FOLDER}/{name}", library, mode=0o755)
        return self.add(guest_path, source, mode=0o755)

    def write_archive(self, archive: Path) -> None:
        """Writes all files as one cpio archive in the format that the kernel unpacks (newc), owned by root."""
        with tempfile.TemporaryDirectory(prefix="bayop-lab-") as root:
            for guest_path in self.folders:
                _stage(root, guest_path).mkdir(exist_ok=True)
            for guest_path, (content, mode) in self.contents.items():
                path = _stage(root, guest_path)
                if isinstance(content, Path):
                    shutil.copyfile(content, path)
                else:
                    path.write_bytes(content)
                path.chmod(mode)
            for guest_path, target in self.links.items():
                _stage(root, guest_path).symlink_to(target)
            _pack(Path(root), archive)


def _stage(root: str, guest_path: str) -> Path:
    """The place of a guest's path below `root`, in a folder that exists."""
    path = Path(root) / guest_path.lstrip("/")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _pack(root: Path, archive: Path) -> None:
    names = sorted(str(path.relative_to(root)) for path in root.rglob("*"))
    command = [tool("cpio"), "--create", "--format=newc", "--owner=+0:+0", "--null", "--quiet", "--reproducible"]
    with archive.open("wb") as output:
        run = subprocess.run(
            command,
            cwd=root,
            input=b"".join(os.fsencode(n) + b"\0" for n in names),
            stdout=output,
            stderr=subprocess.PIPE,
            check=False,
        )
    if run.returncode != 0:
        raise LabError(wrong=f"cpio cannot pack the guest's files: {run.stderr.decode().strip()}", place=str(archive))


def libraries(source: Path) -> Mapping[str, Path]:
    """The shared libraries of a program: the host's path of each by its soname; none for a static one.

    Libraries of the guest's packages count as well, so that none of them has to be installed on the host.
    """
    search_path = os.pathsep.join(str(TREE / folder) for folder in ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"))
    run = subprocess.run(
        [tool("ldd"), str(source)],
        env={**os.environ, "LD_LIBRARY_PATH": search_path, "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )
    if "not a dynamic executable" in run.stderr or "statically linked" in run.stdout:
        return {}
    if run.returncode != 0:
        raise LabError(wrong=f"ldd cannot list the program's libraries: {run.stderr.strip()}", place=str(source))
    return parse_ldd(run.stdout, place=str(source))


def parse_ldd(text: str, *, place: str) -> Mapping[str, Path]:
    """The libraries in what ldd(1) prints, by soname; the kernel's own vdso has no file and is left out."""
    libraries = {}
    for line in text.splitlines():
        if match := re.fullmatch(r"\s*(\S+) => not found", line):
            raise LabError(wrong=f"the library {match[1]} is missing", value=match[1], place=place)
        if match := re.fullmatch(r"\s*(?:(\S+) => )?(/\S+) \(0x[0-9a-f]+\)", line):
            libraries[match[1] or Path(match[2]).name] = Path(match[2])
    return libraries
