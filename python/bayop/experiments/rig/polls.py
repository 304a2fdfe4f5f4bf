"""How often the kernel has polled one network device."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from errno import ENODEV
from fcntl import ioctl
from typing import Final

from bayop.errors import UnsupportedError

_PERF_EVENT_OPEN: Final = {"x86_64": 298, "aarch64": 241}
"""The number of the system call."""
_TRACEPOINT: Final = 2
_CLOSE_ON_EXEC: Final = 8
_SET_FILTER: Final = 0x40082406
_ATTRIBUTES: Final = struct.Struct("=IIQ48x")
"""`struct perf_event_attr` in its first version: type, size, configuration; all else is 0."""


@contextmanager
def polls_of(device: str) -> Iterator[Callable[[], int]]:
    """Counts from now on how often the kernel polls a device; it counts all devices of that name on this machine.

    Counts the tracepoint `napi:napi_poll` (perf_event_open(2)), since /proc/softirqs tells no device from another.

    Returns:
        What says how often that was until now.

    Raises:
        UnsupportedError: the kernel does not count that for us.
    """
    with ExitStack() as stack:
        try:
            counters = _open(_tracepoint(), stack)
            for counter in counters:
                ioctl(counter, _SET_FILTER, f'dev_name == "{device}"'.encode())
        except OSError as error:
            raise _refusal(error.strerror) from None
        yield lambda: sum(int.from_bytes(os.read(counter, 8), "little") for counter in counters)


def _open(tracepoint: int, stack: ExitStack) -> list[int]:
    """A counter on every processor that is online."""
    number = _PERF_EVENT_OPEN.get(platform.machine())
    if number is None:
        raise _refusal(f"unknown machine {platform.machine()}")
    call = ctypes.CDLL(None, use_errno=True).syscall
    attributes = _ATTRIBUTES.pack(_TRACEPOINT, _ATTRIBUTES.size, tracepoint)
    counters = []
    for cpu in range(os.sysconf("SC_NPROCESSORS_CONF")):
        every_process, no_group = -1, -1
        counter = call(number, attributes, every_process, cpu, no_group, ctypes.c_ulong(_CLOSE_ON_EXEC))
        if counter >= 0:
            stack.callback(os.close, counter)
            counters.append(counter)
        elif ctypes.get_errno() != ENODEV:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return counters


def _tracepoint() -> int:
    """The number of the tracepoint, from a mount of our own: there may be no other."""
    folder = "/sys/kernel/tracing"
    script = f"mount -t tracefs none {folder} && cat {folder}/events/napi/napi_poll/id"
    words = ["unshare", "--mount", "sh", "-c", script]
    run = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603 -- our words
    if run.returncode != 0:
        raise _refusal(run.stderr.strip())
    return int(run.stdout)


def _refusal(why: str | None) -> UnsupportedError:
    return UnsupportedError(
        wrong=f"the kernel does not count the polls of a device: {why}",
        hint="the tracepoint napi:napi_poll needs CONFIG_PERF_EVENTS and CONFIG_FTRACE, and CAP_PERFMON",
    )
