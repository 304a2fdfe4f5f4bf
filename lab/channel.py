"""The two JSON protocols of a QEMU machine, over Unix sockets: QMP to QEMU, and QGA to the agent of QEMU in the guest.

Both send one JSON object per line and get `{"return": ...}` or `{"error": {"desc": ...}}` back (QEMU documents
interop/qmp-spec and interop/qemu-ga-ref). The guest's end is a virtio port, so that commands work without a network.
"""

from __future__ import annotations

import itertools
import json
import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from lab.errors import LabError

# What a reply holds depends on the command, as QEMU documents it; the caller knows its shape.
JsonValue: TypeAlias = Any


class ChannelClosedError(LabError):
    """The other end is gone: QEMU ended."""


class NoAnswerError(LabError):
    """The other end did not answer in time."""


class Channel:
    """One connection; threads may share it."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._ids = itertools.count()
        self._unread = b""
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.connect(str(path))
        except OSError:
            self._socket.close()
            raise

    def close(self) -> None:
        """Hangs up."""
        self._socket.close()

    def execute(
        self, command: str, arguments: Mapping[str, object] | None = None, *, timeout_s: float = 30
    ) -> JsonValue:
        """Sends a command and returns what it returned.

        Raises:
            LabError: The other end refused the command.
            NoAnswerError: It did not answer in time.
            ChannelClosedError: There is no other end any more.
        """
        deadline = time.monotonic() + timeout_s
        with self._lock:
            request = next(self._ids)
            self._send({"execute": command, "arguments": dict(arguments or {}), "id": request})
            # Anything else is an event, QMP's greeting, or the answer to a command that was given up.
            while (reply := self._receive(deadline, command)).get("id") != request:
                pass
        if "error" in reply:
            raise LabError(wrong=f"the machine refuses {command}: {reply['error']['desc']}")
        return reply["return"]

    def _send(self, message: Mapping[str, object]) -> None:
        self._socket.settimeout(None)
        try:
            self._socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError as error:
            raise ChannelClosedError(wrong="the machine has closed its command channel") from error

    def _receive(self, deadline: float, command: str) -> Mapping[str, Any]:
        while b"\n" not in self._unread:
            self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
            try:
                data = self._socket.recv(1 << 16)
            except TimeoutError:
                raise NoAnswerError(wrong=f"the machine did not answer {command} in time") from None
            except OSError as error:
                raise ChannelClosedError(wrong="the machine has closed its command channel") from error
            if not data:
                raise ChannelClosedError(wrong="the machine has closed its command channel")
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        message: Mapping[str, Any] = json.loads(line)
        return message
