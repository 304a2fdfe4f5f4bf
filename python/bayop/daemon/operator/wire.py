"""What goes over the socket: one line of JSON each way. Anything else is refused, and no more of it is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypedDict

import msgspec

from bayop.errors import BayopError, DriftError, InputError, UnsupportedError
from bayop.json_text import decoder

MOST_BYTES: Final = 1_000_000
"""No line is longer."""

_ERRORS: Final = (BayopError, InputError, DriftError, UnsupportedError)


class _Interval(TypedDict):
    value: float
    low: float | None
    high: float | None


class _Saved(TypedDict):
    switchbacks: int
    power_w: _Interval | None
    energy_kwh: _Interval | None
    cost: _Interval | None
    currency: str | None
    carbon_g: _Interval | None


class _Standing(TypedDict):
    event: Literal["service"]
    service: str
    doing: str
    setting: dict[str, float | str] | None
    qps: float | None
    power_w: float | None
    latency_us: float | None
    margin: float | None
    current: bool
    budget_left: float | None
    quiet_until: str | None
    waits_for: str | None
    paused_by: list[str]
    restored: bool
    trouble: str | None
    saved: _Saved | None


class _Reloaded(TypedDict):
    event: Literal["reloaded"]
    begun: list[str]
    ended: list[str]
    unchanged: list[str]


class _Told(TypedDict):
    kind: str
    rule: str | None
    wrong: str | None
    value: str | None
    place: str | None
    hint: str | None


class Stream(Protocol):
    """A connection as a file of bytes."""

    def readline(self, size: int, /) -> bytes:
        """A line, or so much of it."""
        ...

    def write(self, data: bytes, /) -> object:
        """Writes some."""
        ...

    def flush(self) -> None:
        """Has it sent."""
        ...


def socket_of(state: Path) -> Path:
    """The socket of the `bayop run` that writes a state."""
    return state.with_name(f"{state.name}.sock")


def send(stream: Stream, message: Mapping[str, object]) -> None:
    """Writes a message."""
    stream.write(json.dumps(message, allow_nan=False).encode() + b"\n")
    stream.flush()


def receive(stream: Stream) -> dict[str, Any]:
    """Reads a message.

    Raises:
        InputError: what came is none.
        OSError: the peer is gone or silent.
    """
    line = stream.readline(MOST_BYTES)
    try:
        message = json.loads(line) if line.endswith(b"\n") else None
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise InputError(
            f"a message must be one line of JSON, an object of at most {MOST_BYTES} bytes", value=line[:80]
        )
    return message


def from_error(error: BayopError) -> dict[str, object]:
    """An error as a message carries it."""
    return {"error": error.parts}


def events_in(answer: Mapping[str, Any], verb: str) -> list[dict[str, Any]]:
    """The events that an answer to a verb carries.

    Raises:
        ValueError: it is none that a `bayop run` of this version gives.
        BayopError: the one that it carries instead.
    """
    if "error" in answer:
        error = BayopError.of_parts(_checked(answer["error"], _Told), _ERRORS)
        if error.message:
            raise error
    return [
        _checked(event, _Reloaded if verb == "reload" else _Standing) for event in _checked(answer.get("events"), list)
    ]


def _checked(value: Any, kind: type) -> Any:  # noqa: ANN401 -- what it is, it stays
    decoder(kind)  # has it met the type, which `convert` alone must not do in two threads at once
    msgspec.convert(value, kind)
    return value
