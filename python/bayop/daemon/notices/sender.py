"""Sends notices by a thread of its own: whoever has something to tell never waits for whoever is told."""

from __future__ import annotations

import json
import queue
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Final
from urllib.parse import urlsplit

from bayop import __version__
from bayop.daemon.notices.terms import Notify
from bayop.errors import BayopError, reason
from bayop.exchange import Exchange

_MOST: Final = 100
"""So many notices wait for a peer that is slow; what comes then is lost, and said to be."""
_PATIENCE_S: Final = 10.0
_PAUSES_S: Final = (1.0, 4.0, 15.0)
"""Between the attempts."""
_END_S: Final = 3.0
"""How long the end of `bayop run` waits for what is still to be told."""


class Sender:
    """Sends events to an address.

    Args:
        notify: Where, and which.
        lost: Told, in the sender's thread, why a notice could not be delivered.
        pauses_s: How long it waits before each further attempt, in s.
    """

    def __init__(
        self, notify: Notify, lost: Callable[[str, str], None], *, pauses_s: tuple[float, ...] = _PAUSES_S
    ) -> None:
        self._notify, self._lost, self._pauses_s = notify, lost, pauses_s
        self._events: queue.Queue[Mapping[str, Any] | None] = queue.Queue(_MOST)
        self._ended = threading.Event()
        self._mutex = threading.Lock()
        self._dropped = 0
        self._thread = threading.Thread(target=self._run, name="bayop-notices", daemon=True)

    def hear(self, event: Mapping[str, Any]) -> None:
        """Has an event sent soon, where it is one that is told."""
        if event["event"] not in self._notify.events:
            return
        try:
            self._events.put_nowait(event)
        except queue.Full:
            with self._mutex:
                self._dropped += 1

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Sends meanwhile, and at the end for a moment longer what is left."""
        self._thread.start()
        try:
            yield
        finally:
            self._ended.set()  # what fails now is not tried again
            try:
                self._events.put_nowait(None)
            except queue.Full:
                return
            self._thread.join(_END_S)

    def _run(self) -> None:
        while (event := self._events.get()) is not None:
            if (why := self._deliver(event)) is not None:
                self._lost(str(event["event"]), why)
            with self._mutex:
                dropped, self._dropped = self._dropped, 0
            if dropped:
                self._lost(f"{dropped} more", "too many waited")

    def _deliver(self, event: Mapping[str, Any]) -> str | None:
        """Why it could not be delivered; None when it was."""
        body = json.dumps(event, allow_nan=False).encode()
        why = None
        for pause_s in (0.0, *self._pauses_s):
            if pause_s and self._ended.wait(pause_s):
                break
            try:
                status = self._post(body)
            except (OSError, HTTPException, BayopError, ValueError) as error:  # a host may be no name
                why = _why(error)
                continue
            if 200 <= status < 300:
                return None
            why = f"it answers {status}"
            if status < 500 and status not in (408, 429):
                break  # it would say so again; a redirect could lead our token anywhere
        return why

    def _post(self, body: bytes) -> int:
        parts, token = urlsplit(self._notify.url), self._notify.token()
        host = parts.hostname or ""
        connection = (
            HTTPSConnection(host, parts.port, context=ssl.create_default_context())
            if parts.scheme == "https"
            else HTTPConnection(host, parts.port)
        )
        headers = {"Content-Type": "application/json", "User-Agent": f"bayop/{__version__}", "Connection": "close"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        with Exchange(connection, limit_s=_PATIENCE_S, most_bytes=0) as exchange:
            return exchange.ask("POST", target, body, headers).status


def _why(error: Exception) -> str:
    if isinstance(error, BayopError):
        return error.message
    if isinstance(error, ssl.SSLError):  # its number is none of the system's
        why: str | None = getattr(error, "verify_message", None) or error.reason
        return f"TLS failed: {why}"
    return reason(error)
