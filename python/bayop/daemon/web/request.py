"""One request, from a peer that may be slow, dead or hostile: so many bytes within so much time, or it is refused."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import unquote

from bayop.daemon.web.content import RefusedError
from bayop.errors import InputError

_MOST_HEAD: Final = 16_384
_MOST_BODY: Final = 65_536
"""A load balancer may send more than nothing with its word; it is read, and says nothing."""
_PATIENCE_S: Final = 5.0
_LINE: Final = re.compile(r"(?P<method>[A-Z]{1,16}) (?P<target>/[!-~]*) HTTP/1\.[01]")
_HEADER: Final = re.compile(r"(?P<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(?P<value>[\t -~\x80-\xff]*?)[ \t]*")
_END: Final = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Request:
    """What a peer wants.

    Attributes:
        method: Such as GET.
        path: What it is about, without a query, decoded.
        headers: By their names in small letters; none of them twice.
        peer: The address that it came from.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    peer: str


def read_request(connection: socket.socket, peer: str) -> Request | None:
    """Reads a request with its body, which counts for nothing; None when the peer went away.

    Raises:
        RefusedError: what came is none, too much, or not here in time.
        OSError: the connection is broken.
    """
    ends_s = time.monotonic() + _PATIENCE_S
    data = b""
    while (end := data.find(_END)) < 0:
        if len(data) >= _MOST_HEAD:
            status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            raise _refused(status, f"a request must have at most {_MOST_HEAD} bytes before its body")
        if not (part := _receive(connection, _MOST_HEAD - len(data), ends_s)):
            return None
        data += part
    request, length = _parse(data[:end].decode("latin-1"), peer)
    left = length - (len(data) - end - len(_END))
    while left > 0:
        if not (part := _receive(connection, min(left, _MOST_HEAD), ends_s)):
            return None
        left -= len(part)
    return request


def _receive(connection: socket.socket, most: int, ends_s: float) -> bytes:
    left_s = ends_s - time.monotonic()
    try:
        if left_s <= 0:
            raise TimeoutError
        connection.settimeout(left_s)
        return connection.recv(most)
    except TimeoutError as error:
        raise _refused(HTTPStatus.REQUEST_TIMEOUT, f"a request must be here within {_PATIENCE_S:g} s") from error


def _parse(head: str, peer: str) -> tuple[Request, int]:
    """The request, and how many bytes of body come after it."""
    first, *lines = head.split("\r\n")
    line = _LINE.fullmatch(first)
    if line is None:
        raise _refused(HTTPStatus.BAD_REQUEST, "a request must begin with a method, a path and HTTP/1.1")
    headers: dict[str, str] = {}
    for each in lines:
        header = _HEADER.fullmatch(each)
        if header is None or header["name"].lower() in headers:
            raise _refused(HTTPStatus.BAD_REQUEST, "a header must be a name and a value, and be there once")
        headers[header["name"].lower()] = header["value"]
    if "transfer-encoding" in headers:
        raise _refused(HTTPStatus.LENGTH_REQUIRED, "a body must have a content-length")
    length = headers.get("content-length", "0")
    if not length.isascii() or not length.isdecimal() or len(length) > 9 or int(length) > _MOST_BODY:
        raise _refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body must have at most {_MOST_BODY} bytes")
    path = unquote(line["target"].partition("?")[0], errors="replace")
    return Request(line["method"], path, headers, peer), int(length)


def _refused(status: HTTPStatus, rule: str) -> RefusedError:
    return RefusedError(status, InputError(rule, wrong="the request is refused"))
