"""The layers of the library OS: whose each instruction of its image is, wherever the compiler has put it.

Line numbers say which line of which source an instruction stands for, and which functions that was inlined into. It
belongs to the innermost of them that is in the library OS: what Rust's library does inside `tcp` is work of `tcp`.
"""

from __future__ import annotations

import os
import re
import struct
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from lab.packages import LAB

_SOURCES: Final = (
    ("memory", ("hal/src/heap.rs",)),
    ("service", ("apps/", "tpcc/", "net/src/service")),
    ("runtime", ("runtime/", "machine/", "image/", "idle/")),
    ("tcp", ("net/src/tcp/", "net/src/wire/tcp.rs")),
    ("ethernet and ip", ("net/src/device", "net/src/random", "net/src/stack", "net/src/wire/", "net/src/lib.rs")),
    ("driver", ("net/src/driver/",)),
    ("hardware", ("hal/",)),
)
"""Where each layer's sources begin, from the service down; the first one that fits has it."""

REST: Final = "rest"
"""What is of none: functions of Rust's library that stand by themselves, the agent."""

LAYERS: Final = (REST, *(layer for layer, _ in _SOURCES))
"""By the numbers that the plugin knows them by."""

_ASSEMBLY: Final = {"loader_entry": "hardware", "memmove": "memory"}
"""What has no line numbers, by the symbols where it begins: boot and entries of interrupts, copies of memory."""


def ranges_of(path: Path) -> bytes:
    """The layers of an image's code, as `count.c` reads them."""
    table = _said("objdump", "--dwarf=decodedline", str(path))
    addresses = sorted({int(found, 16) for found in re.findall(r"\s(0x[0-9a-f]+)\b", table)})
    inlined = _said("addr2line", "--inlines", "--addresses", "--exe", str(path), asked="\n".join(map(hex, addresses)))
    symbols = re.findall(r"^([0-9a-f]+) \w (\S+)$", _said("nm", str(path)), re.MULTILINE)
    assembly = [(int(at, 16), LAYERS.index(_ASSEMBLY[name])) for at, name in symbols if name in _ASSEMBLY]
    ranges = sorted([*assembly, *read_layers(inlined.splitlines())])
    return b"".join(struct.pack("QQ", *each) for each in merged(ranges))


def read_layers(lines: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Where layers begin, from what addr2line says: an address, then a place for each function, innermost first.

    An address without a place lies behind a function's end, and goes on with what is before it.
    """
    at, places = 0, [""]
    for line in [*lines, "0x0"]:
        if not line.startswith("0x"):
            places.append(line)
            continue
        if at > 0 and re.search(r"\.(rs|s):", " ".join(places)):
            yield at, LAYERS.index(next(filter(None, map(layer_of, places)), REST))
        at, places = int(line, 16), []


def layer_of(place: str) -> str | None:
    """The layer of a place in a source, such as `net/src/stack.rs:12`; None where that is not of the library OS."""
    source = place.removeprefix(f"{LAB.parent}/libos/")
    return next((layer for layer, begins in _SOURCES if source.startswith(begins)), None)


def merged(ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Without those that go on with the layer before."""
    before = None
    for at, layer in ranges:
        if layer != before:
            yield at, layer
        before = layer


def _said(*command: str, asked: str = "") -> str:
    environment = os.environ | {"LC_ALL": "C"}
    return subprocess.run(command, input=asked, env=environment, capture_output=True, text=True, check=True).stdout
