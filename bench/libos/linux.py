"""Linux in the machine of the library OS: Debian's kernel and memcached, our TPC-C, an echo, to count both."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.libos.apps import MEMCACHED, App

from bayop.errors import UnsupportedError
from lab.build import build
from lab.files import Files
from lab.libos import TAP_ADDRESS
from lab.packages import LAB

_FIRST_PROCESS: Final = "/etc/lab/linux.sh"
TUNED: Final = "linux-tuned"

LINUX: Final = ("linux", TUNED)
"""Systems by name: as Debian has it, and without what costs instructions and serves no request: mitigations of the
processor's faults, memcached's threads that look after its LRU lists. Both serve on one thread, as one processor asks.
"""


class Linux:
    """What the machine boots.

    Args:
        folder: Where `initrd.cpio` is written.

    Raises:
        UnsupportedError: The lab's packages are not there (lab/README.md), or our TPC-C is not built.
    """

    def __init__(self, folder: Path) -> None:
        tpcc = Path(os.environ.get("CARGO_TARGET_DIR", LAB.parent / "target")) / "release" / "bayop-tpcc"
        if not tpcc.exists():
            hint = "cargo build --release --package bayop-tpcc-server"
            raise UnsupportedError(wrong="bayop-tpcc is not built", hint=hint)
        images = build(lambda step: print(f"lab: {step}"))
        self._kernel = images.kernel
        self._initrd, extra = folder / "initrd.cpio", folder / "extra.cpio"
        source, echo = Path(__file__).with_name("echo.c"), folder / "echo-server"
        subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-o", str(echo), str(source)], check=True)
        files = Files().add(_FIRST_PROCESS, Path(__file__).with_name("linux.sh"), mode=0o755)
        files.add_program("/usr/bin/bayop-tpcc", tpcc).add_program("/usr/bin/echo-server", echo).write_archive(extra)
        self._initrd.write_bytes(images.base.read_bytes() + extra.read_bytes())

    def boot(self, system: str, app: App, delay_us: int | None = None) -> Sequence[str]:
        """What has QEMU boot one of `LINUX` with a service, behind a NIC whose interrupts are delayed so long."""
        # What the kernel does not know and holds an equals sign becomes the environment of the first process.
        words = f"console=ttyS0 quiet panic=-1 rdinit={_FIRST_PROCESS} address={TAP_ADDRESS} app={app.name}"
        words += f" port={app.port}" + ("" if delay_us is None else f" delay={delay_us}")
        if system == TUNED:
            words += " mitigations=off"
            if app == MEMCACHED:
                words += " options=--extended=no_lru_maintainer,no_lru_crawler"
        return ["-kernel", str(self._kernel), "-initrd", str(self._initrd), "-append", words]
