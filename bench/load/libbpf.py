"""The few calls of libbpf that load eBPF programs, attach them to the root cgroup and map their arrays."""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from bayop.applications.scope import cgroup_root

_SIGNATURES: Final[Mapping[str, tuple[object, Sequence[object]]]] = {
    "bpf_object__open_file": (ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_void_p]),
    "bpf_object__load": (ctypes.c_int, [ctypes.c_void_p]),
    "bpf_object__close": (None, [ctypes.c_void_p]),
    "bpf_object__find_map_by_name": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]),
    "bpf_object__find_program_by_name": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]),
    "bpf_map__set_initial_value": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]),
    "bpf_map__fd": (ctypes.c_int, [ctypes.c_void_p]),
    "bpf_program__attach_cgroup": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_int]),
    "bpf_link__destroy": (ctypes.c_int, [ctypes.c_void_p]),
}


class LibbpfError(RuntimeError):
    """The kernel or libbpf refuses; libbpf says why on stderr."""


class Programs:
    """The eBPF programs of one C file, loaded. A context: they leave the kernel at its end."""

    def __init__(self, source: Path, *, build: Path, constants: bytes) -> None:
        """Compiles with clang into the folder `build`, and loads.

        Args:
            source: The C file.
            build: Where the object file goes.
            constants: The bytes of the file's `.rodata`.

        Raises:
            LibbpfError: there is no clang, libbpf or right.
        """
        build.mkdir(parents=True, exist_ok=True)
        binary = build / source.with_suffix(".o").name
        clang = f"clang -O2 -g -Wall -Werror -target bpf -mcpu=v3 -I/usr/include/{os.uname().machine}-linux-gnu -c"
        subprocess.run([*clang.split(), str(source), "-o", str(binary)], check=True)
        self._libbpf = ctypes.CDLL("libbpf.so.1", use_errno=True)
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(self._libbpf, name)
            function.restype, function.argtypes = result, arguments
        self._links: list[int] = []
        self._object = self._done("bpf_object__open_file", str(binary).encode(), None)
        if self._libbpf.bpf_map__set_initial_value(self._map(".rodata"), constants, len(constants)):
            raise LibbpfError(f"{source.name} has {len(constants)} bytes of constants")
        if self._libbpf.bpf_object__load(self._object):
            raise LibbpfError(f"{source.name} loads: {os.strerror(ctypes.get_errno())}")

    def _done(self, function: str, *arguments: object) -> int:
        pointer = getattr(self._libbpf, function)(*arguments)
        if not pointer:
            raise LibbpfError(f"{function}: {os.strerror(ctypes.get_errno())}")
        return int(pointer)

    def _map(self, name: str) -> int:
        return self._done("bpf_object__find_map_by_name", self._object, name.encode())

    def attach(self, name: str) -> None:
        """Attaches a program of type cgroup_skb to all processes of this machine."""
        program = self._done("bpf_object__find_program_by_name", self._object, name.encode())
        root = cgroup_root()
        if root is None:
            raise LibbpfError("no cgroup of version 2 is mounted")
        cgroup = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            self._links.append(self._done("bpf_program__attach_cgroup", program, cgroup))
        finally:
            os.close(cgroup)

    def array(self, name: str, kind: npt.DTypeLike, count: int) -> npt.NDArray[np.void]:
        """The memory of a map of type BPF_F_MMAPABLE, `count` items of `kind`; it changes as the programs write."""
        size = count * np.dtype(kind).itemsize
        memory = mmap.mmap(
            self._libbpf.bpf_map__fd(self._map(name)), -(-size // mmap.PAGESIZE) * mmap.PAGESIZE, mmap.MAP_SHARED
        )
        return np.frombuffer(memory, kind, count)

    def close(self) -> None:
        """Detaches and unloads everything."""
        while self._links:
            self._libbpf.bpf_link__destroy(self._links.pop())
        self._libbpf.bpf_object__close(self._object)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
