"""What an HTTP server is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bayop import _core
from bayop.errors import InputError

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
"""What a request does (RFC 9110, section 9.3; RFC 5789)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """One request. `{n}` in its path, or in the value of a header, is the number of a record.

    Attributes:
        name: What it is called in the result of a mix.
        weight: How often it is sent, relative to the others of a workload.
        method: The method.
        path: The path, with its query.
        headers: `Name: value` each; one with the name Host stands instead of the server's address.
        bodies: For the methods POST, PUT and PATCH: record n is sent with number n modulo how many there are.
    """

    name: str = ""
    weight: float = 1.0
    method: Method = "GET"
    path: str = "/"
    headers: tuple[str, ...] = ()
    bodies: tuple[bytes, ...] = ()


def check_header(text: str) -> str:
    """The text, when it is a header that a request may have (RFC 9110, section 5).

    Raises:
        InputError: it is none, or one that frames the message, which the generator has to do.
    """
    try:
        _core.load_check_header(text)
    except _core.Error as error:
        raise InputError.of(error).but(place=None) from error
    return text
