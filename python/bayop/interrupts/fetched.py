"""A recording that an agent keeps in memory, as a recorder prints it: asked for what is new, some times a second."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, Final

from bayop.errors import InputError
from bayop.json_text import parse_object

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Ask = Callable[[int], bytes]
"""What an agent answers who is asked for its records from a number on: a line of JSON, and the records behind it."""

PAUSE_S: Final = 0.2
"""How long new records wait. The agent keeps 65,536 of them, or as many as it is told to."""

_NEWEST: Final = 2**63
"""No record has such a number: asks for none, and what the next one will have."""
_RULE: Final = "an agent must answer with records of interrupts behind a line of JSON"
_HINT: Final = "docs/interrupts.md says which agents record"


@contextmanager
def fetched(
    ask: Ask, *, device: str, duration_s: float, sleep: Callable[[float], None], place: str
) -> Iterator[IO[bytes]]:
    """What a recorder of an agent's machine would print.

    Args:
        ask: The agent.
        device: The NIC, which the agent must have.
        duration_s: For how long new records are asked for, on the agent's clock.
        sleep: How to wait.
        place: What errors call it.

    Raises:
        InputError: the agent has another NIC, or answers anything else.
    """
    head, _ = _answer(ask(_NEWEST), place)
    if head.get("device") != device:
        raise InputError(wrong=f"the machine has no NIC {device!r}", place=place, hint=f"it has {head.get('device')!r}")
    with io.BufferedReader(_Printed(_said(ask, head, duration_s, sleep, place))) as out:
        yield out


def _said(
    ask: Ask, head: dict[str, Any], duration_s: float, sleep: Callable[[float], None], place: str
) -> Iterator[bytes]:
    yield _line(
        {key: head[key] for key in ("device", "queues", "record_bytes", "fields", "by", "meter") if key in head}
    )
    begin_s, begin_lost = _number(head, "time_s", place), _no_room(head, place)
    missed, now_s, number = 0, begin_s, int(_number(head, "next", place))
    yield _line({"records": 0, "lost": 0, "time_s": 0.0, **_now(head)})
    while now_s - begin_s < duration_s:
        sleep(min(PAUSE_S, duration_s - (now_s - begin_s)))
        left = 1.0
        while left:
            head, records = _answer(ask(number), place)
            left, number = _number(head, "left", place), int(_number(head, "next", place))
            missed, now_s = missed + int(_number(head, "lost", place)), _number(head, "time_s", place)
            lost = missed + _no_room(head, place) - begin_lost
            said = {"records": head.get("records"), "lost": lost, "time_s": now_s - begin_s, **_now(head)}
            yield _line(said) + records
    yield _line({"duration_s": now_s - begin_s, "lost": missed + _no_room(head, place) - begin_lost})


def _now(head: dict[str, Any]) -> dict[str, Any]:
    """What is so in a moment."""
    return {key: head.get(key) for key in ("delay_us", "energy")}


def _no_room(head: dict[str, Any], place: str) -> int:
    """How many records an agent's recorder has lost since it began; one that records itself has room for all."""
    return int(_number({"lost_by_recorder": 0, **head}, "lost_by_recorder", place))


def _answer(text: bytes, place: str) -> tuple[dict[str, Any], bytes]:
    head, _, records = text.partition(b"\n")
    return parse_object(head, rule=_RULE, place=place, hint=_HINT), records


def _number(head: dict[str, Any], key: str, place: str) -> float:
    value = head.get(key)
    if not isinstance(value, int | float):
        raise InputError(_RULE, value=str(head)[:80], place=place, hint=_HINT)
    return value


def _line(said: dict[str, Any]) -> bytes:
    return json.dumps(said).encode() + b"\n"


class _Printed(io.RawIOBase):
    """Bytes as they come, to be read."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        room = memoryview(buffer).cast("B")
        while not self._rest:
            part = next(self._parts, None)
            if part is None:
                return 0
            self._rest = part
        taken = min(len(room), len(self._rest))
        room[:taken], self._rest = self._rest[:taken], self._rest[taken:]
        return taken
