"""What is counted, built to boot: the library OS with its layers, or with smoltcp's TCP, and Linux."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.libos import images, layers
from bench.libos.apps import App
from bench.libos.linux import LINUX, Linux
from bench.libos.plan import LIBRARY_OS, SMOLTCP


@dataclass(frozen=True)
class System:
    """What a machine boots.

    Args:
        name: One of `plan.SYSTEMS`.
        boot: What QEMU is told to boot it with a service.
        layers: Whose its instructions may be, by the numbers of `ranges`, from the service down; none: it is not told.
        ranges: A file of whose they are, as `count.c` reads it.
    """

    name: str
    boot: Callable[[App], Sequence[str]]
    layers: Sequence[str] = ()
    ranges: Path | None = None


def systems(folder: Path, names: Collection[str]) -> Mapping[str, System]:
    """Builds those with these names; files are written into the folder.

    Raises:
        UnsupportedError: One can't be built.
    """
    built: dict[str, System] = {}
    if LIBRARY_OS in names:
        image, ranges = images.build_lines(), folder / "ranges"
        ranges.write_bytes(layers.ranges_of(image))
        built[LIBRARY_OS] = System(LIBRARY_OS, partial(images.boot, image), layers.LAYERS, ranges)
    if SMOLTCP in names:
        built[SMOLTCP] = System(SMOLTCP, partial(images.boot, images.build_smoltcp()))
    if not set(LINUX).isdisjoint(names):
        linux = Linux(folder)
        built |= {name: System(name, partial(linux.boot, name)) for name in LINUX}
    return built
