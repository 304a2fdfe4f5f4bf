"""Images that the benchmark boots beside Linux: the library OS with line numbers, and the one with smoltcp's TCP."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.libos.apps import App

from bayop.errors import UnsupportedError
from lab.libos import TAP_ADDRESS, image
from lab.packages import LAB

_TOOLS: Final = ("make", "cargo", "objdump", "addr2line", "nm")


def build_lines() -> Path:
    """The library OS with line numbers, as its sources are now.

    Raises:
        UnsupportedError: It can't be built.
    """
    _make("libos-lines")
    return image("lines")


def build_smoltcp() -> Path:
    """The image with smoltcp's TCP in the place of the library OS's own (libos/smoltcp), to count what that costs.

    Raises:
        UnsupportedError: It can't be built.
    """
    _make("libos-smoltcp")
    return image(name="libos-smoltcp")


def boot(path: Path, app: App, address: str = TAP_ADDRESS) -> Sequence[str]:
    """What has QEMU boot an image with a service at an address."""
    return ["-kernel", str(path), "-append", f"ip={address} app={app.name}"]


def _make(target: str) -> None:
    if absent := [tool for tool in _TOOLS if shutil.which(tool) is None]:
        hint = "apt-get install make binutils; cargo comes with Rust"
        raise UnsupportedError(wrong=f"the library OS can't be built: no {', '.join(absent)}", hint=hint)
    run = subprocess.run(["make", target], cwd=LAB.parent, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise UnsupportedError(wrong=f"the library OS can't be built: {run.stderr.strip()}", hint=f"make {target}")
