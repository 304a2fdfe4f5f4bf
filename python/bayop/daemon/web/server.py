"""The server: bounded threads, one request a connection, and an answer to every request, of whatever kind."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from http import HTTPStatus
from socketserver import BaseRequestHandler, TCPServer, ThreadingMixIn
from typing import Any, Final

from bayop.daemon.web.content import Content, RefusedError, json_content
from bayop.daemon.web.file import WebFile
from bayop.daemon.web.gate import Gate
from bayop.daemon.web.request import Request, read_request
from bayop.daemon.web.routes import ACTIONS, ACTIONS_ON_ALL, GET, GET_OF_SERVICE, STREAM
from bayop.daemon.web.standings import telling
from bayop.daemon.web.static import page
from bayop.daemon.web.stream import Stream
from bayop.daemon.web.view import View
from bayop.errors import BayopError, InputError, as_ours, reason

_MOST_PEERS: Final = 96
"""So many are answered at once; more are told to come again."""
_MOST_VIEWERS: Final = 64
"""So many of them may look on."""
_PATIENCE_S: Final = 5.0
"""How long a peer may take to listen."""
_LOOK_S: Final = 0.2
_OF_SERVICE: Final = "/api/services/"
_HEADERS: Final[Mapping[str, str]] = {
    "Cache-Control": "no-store",
    "Connection": "close",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

_STREAMED: Final = Content("text/event-stream", b"")
"""What comes before a stream."""


@contextmanager
def serving(web: WebFile, view: View) -> Iterator[int]:
    """Serves meanwhile; the port that it is served at.

    Raises:
        InputError: the address can't be listened at.
    """
    try:
        server = _Server(web, view)
    except OSError as error:
        where = web.url(web.port)
        raise InputError(
            wrong=f"cannot listen at {where}: {reason(error)}", hint="[web] listen names another address or port"
        ) from error
    thread = threading.Thread(target=server.serve_forever, args=(_LOOK_S,), name="bayop-web", daemon=True)
    thread.start()
    try:
        with telling(view.services, view.feed):
            yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()


class _Server(ThreadingMixIn, TCPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, web: WebFile, view: View) -> None:
        self.view, self.gate, self.page = view, Gate(web), page()
        self._slots = threading.BoundedSemaphore(_MOST_PEERS)
        self.address_family = socket.AF_INET6 if ":" in web.host else socket.AF_INET
        super().__init__((web.host, web.port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 -- as socketserver has it
        """Answers in a thread of its own, where one is free."""
        if self._slots.acquire(blocking=False):
            try:
                super().process_request(request, client_address)
            except RuntimeError:  # there can be no more threads
                self._slots.release()
                raise
            return
        content = _busy().content
        with suppress(OSError):
            request.settimeout(0.0)
            request.send(_head(content) + content.body)
        self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Answers, and makes room."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """A peer that is gone is no trouble of ours."""


class _Handler(BaseRequestHandler):
    server: _Server
    request: socket.socket

    def handle(self) -> None:
        """Answers one request."""
        content: Content | Stream
        wants_body = True
        try:
            request = read_request(self.request, str(self.client_address[0]))
            if request is None:
                return
            wants_body = request.method != "HEAD"
            content = self._answer(request)
        except RefusedError as refused:
            content = refused.content
        except BayopError as error:
            content = RefusedError(HTTPStatus.CONFLICT, error).content
        except OSError:
            return
        except Exception as error:  # one request's trouble is not the others'
            content = RefusedError(HTTPStatus.INTERNAL_SERVER_ERROR, as_ours(error)).content
        with suppress(OSError):
            self.request.settimeout(_PATIENCE_S)
            if isinstance(content, Content):
                self.request.sendall(_head(content) + content.body * wants_body)
                return
            self._send_stream(content)

    def _send_stream(self, stream: Stream) -> None:
        with stream.feed.watched(_MOST_VIEWERS) as has_room:
            if not has_room:
                content = _busy().content
                self.request.sendall(_head(content) + content.body)
                return
            self.request.sendall(_head(_STREAMED))
            with closing(stream.parts()) as parts:
                for part in parts:
                    self.request.sendall(part)

    def _answer(self, request: Request) -> Content | Stream:
        server = self.server
        server.gate.check_host(request)
        if request.method == "POST":
            return self._act(request, server.gate.actor(request))
        if request.method not in ("GET", "HEAD"):
            error = InputError("a request must be GET, HEAD or POST", value=request.method)
            raise RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, error, {"Allow": "GET, HEAD, POST"})
        if request.path in server.page:
            return server.page[request.path]
        server.gate.check_reader(request)
        if request.path == STREAM and request.method == "GET":
            return Stream.of(server.view.feed, request.headers)
        if request.path in GET:
            return GET[request.path](server.view)
        name, rest = _of_service(request)
        if rest in GET_OF_SERVICE:
            return GET_OF_SERVICE[rest](server.view, _known(server.view, name))
        raise _nothing(request)

    def _act(self, request: Request, who: str) -> Content:
        if request.path in ACTIONS_ON_ALL:
            return json_content({"events": self.server.view.word(ACTIONS_ON_ALL[request.path], None, who)})
        name, rest = _of_service(request)
        if rest not in ACTIONS:
            raise _nothing(request)
        return json_content({"events": self.server.view.word(rest, _known(self.server.view, name), who)})


def _of_service(request: Request) -> tuple[str, str]:
    """The service that a path is of, and what of it.

    Raises:
        RefusedError: it is of none.
    """
    if not request.path.startswith(_OF_SERVICE):
        raise _nothing(request)
    name, _, rest = request.path.removeprefix(_OF_SERVICE).partition("/")
    return name, rest


def _known(view: View, name: str) -> str:
    try:
        return view.services.named(name)[0]
    except InputError as error:
        raise RefusedError(HTTPStatus.NOT_FOUND, error) from error


def _nothing(request: Request) -> RefusedError:
    return RefusedError(HTTPStatus.NOT_FOUND, InputError(wrong=f"there is nothing at {request.path[:80]!r}"))


def _busy() -> RefusedError:
    error = BayopError(wrong="too much is asked at once", hint="try again in some seconds")
    return RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, error, {"Retry-After": "5"})


def _head(content: Content) -> bytes:
    status = content.status
    has_length = content is not _STREAMED and status is not HTTPStatus.NO_CONTENT
    length = {"Content-Length": str(len(content.body))} if has_length else {}
    headers = {**_HEADERS, **content.headers, "Content-Type": content.kind, **length}
    lines = (f"HTTP/1.1 {status.value} {status.phrase}", *(f"{name}: {value}" for name, value in headers.items()))
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
