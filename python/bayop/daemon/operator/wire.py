"""What goes over the socket: one line of JSON each way. Anything else is refused, and no more of it is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from bayop.errors import BayopError, DriftError, InputError, UnsupportedError

MOST_BYTES: Final = 1_000_000
"""No line is longer."""

_ERRORS: Final = (BayopError, InputError, DriftError, UnsupportedError)


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


def to_error(error: Mapping[str, Any]) -> BayopError:
    """The error that a message carries."""
    return BayopError.of_parts(error, _ERRORS)
