"""A server as `bayop probe` names it: `memcached://server:11211`, `http://server/health`."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from bayop.errors import InputError, guess
from bayop.load.plan import HTTP, PORTS, Dialect

_URL: Final = re.compile(r"(?P<dialect>[^:/?#\s]+)://(?P<server>[^/?#\s@]+)(?P<path>/\S*)?")


class ServerUrl(NamedTuple):
    """What it says.

    Attributes:
        dialect: What the server speaks.
        server: Its host, with a port where it is not the usual one.
        path: What is asked for over HTTP; "/" unless it is said.
    """

    dialect: Dialect
    server: str
    path: str

    @classmethod
    def parse(cls, text: str) -> ServerUrl:
        """Reads it.

        Raises:
            InputError: it is none, nobody here speaks its protocol, or the protocol knows no paths.
        """
        match = _URL.fullmatch(text)
        if match is None:
            raise InputError("a server must be PROTOCOL://HOST:PORT", value=text, hint=f"one of {', '.join(PORTS)}")
        dialect = next((known for known in PORTS if known == match["dialect"]), None)
        if dialect is None:
            bare = match["dialect"].removesuffix("s")
            similar = guess(match["dialect"], PORTS) or f"one of {', '.join(PORTS)}"
            hint = f"{bare}, of a server without TLS" if bare in PORTS else similar
            raise InputError(wrong=f"there is no protocol {match['dialect']!r}", value=text, hint=hint)
        if match["path"] not in (None, "/") and dialect not in HTTP:
            raise InputError(f"a path must be that of {', '.join(HTTP)}", value=match["path"])
        return cls(dialect, match["server"], match["path"] or "/")
