"""Debian's kernels, unpacked from their packages: the lab's own, and others that `lab/install-kernel` got."""

from __future__ import annotations

import lzma
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lab.errors import LabError
from lab.packages import BUILD, TREE, headers, kernel_release, tool

_XZ, _ZSTD = b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"
_SECTOR: Final = 512
_SETUP_SECTORS: Final = 0x1F1
_PAYLOAD: Final = 0x248
"""Where a bzImage says how many sectors come before the kernel, and where in that is what is packed, and how long it is
(kernel document arch/x86/boot)."""


@dataclass(frozen=True)
class Kernel:
    """One kernel.

    Attributes:
        release: Such as `6.1.0-56-amd64`.
        tree: Has `boot` and, in `lib` or `usr/lib`, `modules`.
        headers: What its modules are built against; there may be no such folder.
    """

    release: str
    tree: Path
    headers: Path

    @property
    def image(self) -> Path:
        """What a boot loader starts."""
        return self.tree / "boot" / f"vmlinuz-{self.release}"

    @property
    def modules(self) -> Path:
        """Its modules."""
        folders = (self.tree / "usr/lib/modules", self.tree / "lib/modules")
        return next(path for path in folders if path.is_dir()) / self.release

    def unpacked(self) -> bytes:
        """The ELF file inside the image.

        Raises:
            LabError: It is packed in another way than Debian does.
        """
        content = self.image.read_bytes()
        at, length = struct.unpack_from("<II", content, _PAYLOAD)
        begin = (content[_SETUP_SECTORS] + 1) * _SECTOR + at
        packed = content[begin : begin + length - 4]  # the unpacked length follows
        if packed.startswith(_XZ):
            return lzma.decompress(packed)
        if packed.startswith(_ZSTD):
            return subprocess.run([tool("zstd"), "-dcq"], input=packed, capture_output=True, check=True).stdout
        raise LabError(
            "Debian's kernel must be packed with xz or zstd", wrong="it is packed otherwise", place=str(self.image)
        )


def own() -> Kernel:
    """The lab's own.

    Raises:
        UnsupportedError: The guest's packages are not there.
    """
    release = kernel_release()
    return Kernel(release, TREE, headers(release))


def of_suite(suite: str) -> Kernel:
    """The one that was got from another suite of Debian's.

    Raises:
        UnsupportedError: It was not.
    """
    tree = BUILD / "kernels" / suite
    release = kernel_release(tree, f"lab/install-kernel {suite}")
    return Kernel(release, tree, headers(release, tree))
