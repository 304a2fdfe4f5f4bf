"""Recordings of a running kernel's stays in idle states, by `bayop-idle-record` (eBPF)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bayop.errors import InputError
from bayop.idle import stays
from bayop.json_text import parse_object
from bayop.recorder import BY_HAND, recorder

COLUMNS: Final = ("cpu", *stays.COLUMNS)
_RULE: Final = "a recorder must print stays and then one JSON object"


@dataclass(frozen=True, slots=True)
class Recording:
    """Stays of a machine's CPUs.

    Attributes:
        of_cpu: By the CPU's number, in order.
        summary: What the recorder counted: `stays`, `lost` for want of room, `duration_s`, `governor` and `driver` of
            the kernel, whether it saw `timers`; and what it took itself, where that was asked for.
    """

    of_cpu: Mapping[int, Sequence[stays.Stay]]
    summary: Mapping[str, object]


def record(words: Sequence[str], *, duration_s: float, cost: bool) -> Recording:
    """Runs the recorder.

    Args:
        words: The program with its arguments, in front of it whatever brings it to the machine.
        duration_s: How long it records.
        cost: Whether it measures what it takes.

    Raises:
        InputError: it can't be run, fails, or prints anything else.
        UnsupportedError: the machine can't be recorded.
    """
    place = f"recorder {words[0]}"
    command = [*words, "--duration-s", f"{duration_s:g}", *(["--cost"] if cost else [])]
    with recorder(command, place=place) as out:
        return read_recording((line.decode("utf-8", "replace") for line in out), place)


def read_recording(lines: Iterable[str], place: str) -> Recording:
    """What a recorder has printed.

    Raises:
        InputError: it is anything else.
    """
    of_cpu: dict[int, list[stays.Stay]] = {}
    lines = iter(lines)
    header = next(lines, "")
    if tuple(header.strip().split(",")) != COLUMNS:
        raise InputError(_RULE, value=header.strip()[:80], place=place, hint=BY_HAND)
    for line in lines:
        if line.startswith("{"):
            summary = parse_object(line, rule=_RULE, place=place, hint=BY_HAND)
            return Recording({cpu: of_cpu[cpu] for cpu in sorted(of_cpu)}, summary)
        try:
            cpu, a, b, c, d, e, f, g, h, i = map(int, line.split(","))
        except ValueError:
            raise InputError(_RULE, value=line.strip()[:80], place=place, hint=BY_HAND) from None
        of_cpu.setdefault(cpu, []).append((a, b, c, d, e, f, g, h, i))
    raise InputError(wrong="the recorder ended before its last line", place=place, hint=BY_HAND)
