"""The socket's end at an operator: says one thing to the `bayop run` of a state, and returns what it answers."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any, Final

from bayop.daemon.operator.wire import events_in, receive, send, socket_of
from bayop.errors import InputError, UnsupportedError, reason

_PATIENCE_S: Final = 60.0
"""Longer than services may take to let go of their machines."""


def ask(state: Path, verb: str, **fields: object) -> list[dict[str, Any]]:
    """The events that tell what came of it.

    Args:
        state: The file of what that `bayop run` remembers.
        verb: What is wanted (`daemon/operator/words.py`).
        fields: Of whom, and the like.

    Raises:
        UnsupportedError: no `bayop run` of this version answers there, or it does not let us in.
        BayopError: it refuses.
    """
    path = socket_of(state)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_PATIENCE_S)
            connection.connect(str(path))
            with connection.makefile("rwb") as stream:
                send(stream, {"verb": verb, **fields})
                answer = receive(stream)
    except PermissionError as error:
        hint = "root may, and the user that runs it"
        raise UnsupportedError(wrong=f"cannot talk to {path}: {reason(error)}", place=str(path), hint=hint) from error
    except (OSError, InputError) as error:
        why = "no bayop run answers" if not isinstance(error, TimeoutError) else "bayop run does not answer in time"
        hint = "start it, or name the bayop.toml that it runs, or its state"
        raise UnsupportedError(wrong=f"{why} at {path}", place=str(path), hint=hint) from error
    try:
        return events_in(answer, verb)
    except ValueError as error:
        wrong = f"what answers at {path} is no bayop run of this version"
        raise UnsupportedError(wrong=wrong, place=str(path), hint="restart it") from error
