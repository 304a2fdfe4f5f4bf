"""Somebody who is told what happens, by HTTP."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

_WITHIN_S: Final = 30.0


class Peer:
    """A server that answers as it is told, the last answer for ever, and keeps what it was sent."""

    def __init__(self) -> None:
        self.answers, self.got = [204], list[tuple[str, dict[str, str], Any]]()
        self.goes_on = threading.Event()
        self.goes_on.set()
        peer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                peer.got.append((self.path, dict(self.headers), json.loads(body)))
                peer.goes_on.wait(_WITHIN_S)
                self.send_response(peer.answers.pop(0) if len(peer.answers) > 1 else peer.answers[0])
                self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the base class's name
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def end(self) -> None:
        self.goes_on.set()
        self._server.shutdown()
        self._server.server_close()
