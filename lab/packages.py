"""What Debian gives the lab: tools on the host, and the unpacked packages that the guest is made of."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from lab.errors import UnsupportedError

LAB = Path(__file__).resolve().parent
BUILD = LAB.parent / "build" / "lab"
PACKAGES = BUILD / "packages"
TREE = PACKAGES / "tree"
HINT = "run lab/install-packages"

_TOOLS = ("qemu-system-x86_64", "iasl", "cpio", "depmod", "mkfs.ext4", "make", "cc", "ldd", "openssl", "zstd")
_SEARCH_PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


def missing() -> str | None:
    """What keeps the lab from running here, in a few words; None when nothing does."""
    absent = [name for name in _TOOLS if shutil.which(name, path=_SEARCH_PATH) is None]
    if absent:
        return f"{absent[0]} is not installed"
    if not (PACKAGES / "list").exists():
        return "the guest's packages are not there"
    if not headers(kernel_release()).is_dir():
        return f"the kernel headers {kernel_release()} are not installed"
    return None


def require() -> None:
    """Raises an `UnsupportedError` (exit code 4) when something is missing."""
    reason = missing()
    if reason is not None:
        raise UnsupportedError(wrong=f"the lab can't run here: {reason}", hint=HINT)


def tool(name: str) -> str:
    """The path of a program of the host; `/usr/sbin` counts, whoever asks."""
    path = shutil.which(name, path=_SEARCH_PATH)
    if path is None:
        raise UnsupportedError(wrong=f"the lab can't run here: {name} is not installed", hint=HINT)
    return path


def program(name: str) -> Path:
    """The path of a program from the guest's packages."""
    for folder in ("usr/bin", "usr/sbin", "bin", "sbin"):
        if (TREE / folder / name).is_file():
            return TREE / folder / name
    raise UnsupportedError(wrong=f"the guest's packages have no {name}", value=name, hint=HINT)


def kernel_release(tree: Path = TREE, hint: str = HINT) -> str:
    """The kernel of a folder into which packages were unpacked, such as `6.1.0-56-amd64`: the guest's own.

    Raises:
        UnsupportedError: There is none; `hint` says what brings it.
    """
    image = next(tree.glob("boot/vmlinuz-*"), None)
    if image is None:
        raise UnsupportedError(wrong=f"there is no kernel in {tree}", hint=hint)
    return image.name.removeprefix("vmlinuz-")


def headers(release: str, root: Path = Path("/")) -> Path:
    """What modules are built against, where packages are installed or unpacked."""
    return root / "usr/src" / f"linux-headers-{release}"
