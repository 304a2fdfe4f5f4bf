"""Stays of a running kernel's CPUs in idle states, counted by `bayop-idle-count` (eBPF)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Final, TypeVar

import msgspec

from bayop.errors import InputError
from bayop.json_text import Count
from bayop.recorder import BY_HAND, recorder

_RULE: Final = "a counter must print the idle states of its machine and then an object a window"

_Line = TypeVar("_Line")


class _Header(msgspec.Struct, frozen=True):
    states: Annotated[tuple[tuple[str, Count, Count], ...], msgspec.Meta(min_length=1)]
    bounds_us: Annotated[tuple[float, ...], msgspec.Meta(min_length=1)]


class _Window(msgspec.Struct, frozen=True):
    duration_s: float
    stays: tuple[tuple[Count, Count, Count, Count], ...]


@dataclass(frozen=True, slots=True)
class Window:
    """What one window has shown.

    Attributes:
        duration_s: Its length.
        of_cpu: Stays by state and bin, for each CPU that had any.
    """

    duration_s: float
    of_cpu: Mapping[int, Mapping[tuple[int, int], int]]

    @classmethod
    def of(cls, duration_s: float, rows: Iterable[tuple[int, int, int, int]]) -> Window:
        """From rows of CPU, state, bin and how many stays."""
        of_cpu: dict[int, dict[tuple[int, int], int]] = {}
        for cpu, state, bin_, stays in rows:
            of_cpu.setdefault(cpu, {})[state, bin_] = stays
        return cls(duration_s, of_cpu)


@dataclass(frozen=True, slots=True)
class Counting:
    """A counter that runs.

    Attributes:
        states: Name, exit latency and target residency (us) of its machine's idle states, from the shallowest on.
        bounds_us: The shortest length of each bin.
        windows: One after another, each when it is over.
    """

    states: Sequence[tuple[str, int, int]]
    bounds_us: Sequence[float]
    windows: Iterator[Window]


@contextmanager
def counting(words: Sequence[str], *, window_s: float) -> Iterator[Counting]:
    """Runs the counter, and ends it with the block.

    Args:
        words: The program with its arguments, in front of it whatever brings it to the machine.
        window_s: How long it counts before it tells.

    Raises:
        InputError: it can't be run, fails, or prints anything else.
        UnsupportedError: the machine shows no idle states, or does not let them be counted.
    """
    place = f"recorder {words[0]}"
    with recorder([*words, "--window-s", f"{window_s:g}"], place=place) as out:
        header = _decoded(next(out, b""), _Header, place)
        yield Counting(header.states, header.bounds_us, _windows(out, header, place))


def _windows(out: Iterator[bytes], header: _Header, place: str) -> Iterator[Window]:
    for line in out:
        window = _decoded(line, _Window, place)
        if any(state >= len(header.states) or bin_ >= len(header.bounds_us) for _, state, bin_, _ in window.stays):
            raise _no_counter(line, place)
        yield Window.of(window.duration_s, window.stays)


def _decoded(line: bytes, kind: type[_Line], place: str) -> _Line:
    try:
        return msgspec.json.decode(line, type=kind)
    except msgspec.DecodeError as error:
        raise _no_counter(line, place) from error


def _no_counter(line: bytes, place: str) -> InputError:
    return InputError(_RULE, value=line.decode("utf-8", "replace").strip()[:80], place=place, hint=BY_HAND)
