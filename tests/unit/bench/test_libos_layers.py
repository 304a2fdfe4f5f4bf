from __future__ import annotations

import struct
from pathlib import Path
from typing import cast

from bench.libos.count import Counted, Counter
from bench.libos.layers import LAYERS, REST, layer_of, merged, read_layers

from bayop.experiments.rig.veth import Namespace
from lab.packages import LAB

ROOT = f"{LAB.parent}/libos"
SAID = f"""\
0x0000000000100380
{ROOT}/net/src/tcp/queue.rs:12
{ROOT}/net/src/stack.rs:99
0x0000000000100390
/rustc/59807616/library/core/src/slice/mod.rs:12 (discriminator 3)
{ROOT}/cargo/registry/src/index/spin-0.10.1/src/mutex.rs:3
{ROOT}/net/src/stack.rs:100
{ROOT}/image/src/main.rs:9
0x00000000001003a0
/rustc/59807616/library/core/src/fmt/mod.rs:236
0x00000000001003b4
libos.adff659e8771c7cc-cgu.0:?
0x00000000001003c0
{ROOT}/hal/src/cpu.rs:?
0x00000000001003d0
??:0
"""


def test_an_instruction_belongs_to_the_innermost_function_of_the_library_os() -> None:
    found = [(at, LAYERS[layer]) for at, layer in read_layers(SAID.splitlines())]
    assert found == [(0x100380, "tcp"), (0x100390, "ethernet and ip"), (0x1003A0, REST), (0x1003C0, "hardware")]


def test_each_source_is_of_one_layer() -> None:
    for source, layer in {
        "net/src/driver/virtio/queue.rs": "driver",
        "net/src/wire/tcp.rs": "tcp",
        "net/src/wire/ipv4.rs": "ethernet and ip",
        "net/src/service/pair.rs": "service",
        "apps/src/memcached/store.rs": "service",
        "tpcc/src/random.rs": "service",
        "image/src/main.rs": "runtime",
        "hal/src/heap.rs": "memory",
        "hal/src/apic.rs": "hardware",
        "agent/src/lib.rs": None,
    }.items():
        assert layer_of(f"{ROOT}/{source}:1") == layer_of(f"{source}:1") == layer


def test_every_source_of_the_library_os_but_the_agent_has_a_layer() -> None:
    sources = [path.relative_to(ROOT) for path in LAB.parent.glob("libos/*/src/**/*.rs")]
    parts = {source.parts[0] for source in sources if layer_of(str(source)) is None}
    assert parts == {"agent", "core", "smoltcp"}, "smoltcp is another image's"


def test_what_goes_on_with_a_layer_is_no_range_of_its_own() -> None:
    assert list(merged([(1, 0), (2, 3), (5, 3), (7, 0)])) == [(1, 0), (2, 3), (7, 0)]


def test_what_was_executed_is_the_sum_of_its_layers(tmp_path: Path) -> None:
    counter = Counter(tmp_path, cast(Namespace, None))
    (tmp_path / "counters").write_bytes(struct.pack("5Q", 7, 9, 100, 20, 3))
    before = counter.counted()
    assert (before.halts, before.returns, before.instructions) == (7, 9, 123)
    (tmp_path / "counters").write_bytes(struct.pack("5Q", 8, 11, 150, 20, 4))
    assert counter.counted() - before == Counted(1, 2, [50, 0, 1])


def test_layers_are_told_apart_where_there_are_ranges(tmp_path: Path) -> None:
    counter = Counter(tmp_path, cast(Namespace, None))
    plugin = f"{tmp_path}/count.so,out={tmp_path}/counters"
    assert counter.arguments() == ("-plugin", plugin)
    assert counter.arguments(tmp_path / "ranges") == ("-plugin", f"{plugin},ranges={tmp_path}/ranges")
