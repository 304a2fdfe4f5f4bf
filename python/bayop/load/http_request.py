"""What an HTTP server is asked."""

from __future__ import annotations

from dataclasses import dataclass

from bayop import _core
from bayop.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """One request. `{n}` in its path, or in the value of a header, is the number of a record.

    Attributes:
        path: The path, with its query.
        headers: `Name: value` each; one with the name Host stands instead of the server's address.
    """

    path: str = "/"
    headers: tuple[str, ...] = ()


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
