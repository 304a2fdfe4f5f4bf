"""Recordings of a running kernel's stays in idle states, by `bayop-idle-record` (eBPF)."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Final

from bayop.errors import InputError, UnsupportedError, reason
from bayop.idle import stays
from bayop.json_text import parse_object

COLUMNS: Final = ("cpu", *stays.COLUMNS)
_UNSUPPORTED: Final = 4
_RULE: Final = "a recorder must print stays and then one JSON object"
_BY_HAND: Final = "run it by hand"


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
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as err:
        try:
            recorder = subprocess.Popen(  # noqa: S603 -- running the user's command is the point
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err, text=True, errors="replace"
            )
        except OSError as error:
            hint = "make probe builds it, and --recorder says where it is"
            raise InputError(wrong=f"cannot run {words[0]}: {reason(error)}", place=place, hint=hint) from error
        with recorder:
            recording = None
            try:
                if recorder.stdout is not None:
                    recording = read_recording(recorder.stdout, place)
            finally:
                recorder.terminate()  # Ctrl-C, or nonsense; it has ended otherwise
        if recording is None or recorder.returncode > 0:
            raise _failure(recorder.returncode, err, place)
        return recording


def read_recording(lines: Iterable[str], place: str) -> Recording | None:
    """What a recorder has printed; None of nothing.

    Raises:
        InputError: it is anything else.
    """
    of_cpu: dict[int, list[stays.Stay]] = {}
    lines = iter(lines)
    header = next(lines, None)
    if header is None:
        return None
    if tuple(header.strip().split(",")) != COLUMNS:
        raise InputError(_RULE, value=header.strip()[:80], place=place, hint=_BY_HAND)
    for line in lines:
        if line.startswith("{"):
            summary = parse_object(line, rule=_RULE, place=place, hint=_BY_HAND)
            return Recording({cpu: of_cpu[cpu] for cpu in sorted(of_cpu)}, summary)
        try:
            cpu, a, b, c, d, e, f, g, h, i = map(int, line.split(","))
        except ValueError:
            raise InputError(_RULE, value=line.strip()[:80], place=place, hint=_BY_HAND) from None
        of_cpu.setdefault(cpu, []).append((a, b, c, d, e, f, g, h, i))
    raise InputError(wrong="the recorder ended before its last line", place=place, hint=_BY_HAND)


def _failure(code: int, err: IO[str], place: str) -> InputError | UnsupportedError:
    """That the recorder failed, in its own words where it has any."""
    err.seek(0)
    said = [line.removeprefix("error: ") for line in err.read().splitlines() if line.strip()]
    hint = said[1].removeprefix("hint: ") if len(said) > 1 else _BY_HAND
    kind = UnsupportedError if code == _UNSUPPORTED else InputError
    return kind(wrong=said[0] if said else f"the recorder ended with exit code {code}", place=place, hint=hint)
