"""Linux in the machine of the library OS: Debian's kernel and memcached, for what is counted of both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from lab.build import build
from lab.files import Files
from lab.libos import TAP_ADDRESS

_FIRST_PROCESS: Final = "/etc/lab/linux.sh"
_STOCK: Final = {"kernel": "", "memcached": ""}
_TUNED: Final = {"kernel": "mitigations=off", "memcached": "--extended=no_lru_maintainer,no_lru_crawler"}

LINUX: Final = {"linux": _STOCK, "linux-tuned": _TUNED}
"""Systems by name: as Debian has it, and without what costs instructions and serves no request: mitigations of the
processor's faults, memcached's threads that look after its LRU lists. Both serve on one thread, as one processor asks.
"""


def kernel(system: str, folder: Path) -> Sequence[str]:
    """What has QEMU boot one of `LINUX`.

    Args:
        system: Its name.
        folder: Where `initrd.cpio` is written.

    Raises:
        UnsupportedError: The lab's packages are not there (lab/README.md).
    """
    images = build(lambda step: print(f"lab: {step}"))
    source, extra, initrd = Path(__file__).with_name("linux.sh"), folder / "extra.cpio", folder / "initrd.cpio"
    Files().add(_FIRST_PROCESS, source, mode=0o755).write_archive(extra)
    initrd.write_bytes(images.base.read_bytes() + extra.read_bytes())
    tuning = LINUX[system]
    # What the kernel does not know and holds an equals sign becomes the environment of the first process.
    words = f"console=ttyS0 quiet panic=-1 {tuning['kernel']} rdinit={_FIRST_PROCESS} address={TAP_ADDRESS}"
    if tuning["memcached"]:
        words += f" options={tuning['memcached']}"
    return ["-kernel", str(images.kernel), "-initrd", str(initrd), "-append", words]
