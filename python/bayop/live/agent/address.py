"""Where an agent listens, and what proves to it who is asking."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from bayop.errors import InputError

PORT: Final = 9617
"""The agent's TCP port where none is named."""

SOCKET: Final = "unix:/run/bayop/agent.sock"
"""The address of this machine's agent as its package installs it."""

PREFIX: Final = "agent:"
"""What an address begins with where it stands beside the names of other targets."""

_OWN_LINK: Final = IPv4Network("127.0.0.0/8"), IPv4Network("169.254.0.0/16")
"""What no router passes on: this machine, and link-local addresses (RFC 1122, 3927)."""

_HINT: Final = f"{SOCKET} on this machine, https://HOST:{PORT} on another"


@dataclass(frozen=True, slots=True)
class UnixAddress:
    """A Unix socket of this machine; the file's group says who may connect."""

    path: str

    def __str__(self) -> str:
        return f"unix:{self.path}"


@dataclass(frozen=True, slots=True)
class HttpsAddress:
    """A TCP port, always with mutual TLS."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"https://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class HttpAddress:
    """A TCP port without any proof of who asks or answers, as the library OS has it: on our own link alone."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"http://{self.host}:{self.port}"


Address: TypeAlias = UnixAddress | HttpsAddress | HttpAddress


@dataclass(frozen=True, slots=True)
class Credentials:
    """PEM files for mutual TLS.

    Attributes:
        certificate: The brain's certificate, signed by the CA that the agent trusts (`client_ca`).
        key: Its private key.
        ca: The CA that signed the agent's certificate.
    """

    certificate: Path
    key: Path
    ca: Path


def parse_address(text: str) -> Address:
    """Reads an agent's address; it may have `agent:` before it.

    >>> for text in ("unix:/run/bayop/agent.sock", "https://web1.example:9617", "http://127.0.0.1:9617"):
    ...     print(parse_address(f"agent:{text}"))
    unix:/run/bayop/agent.sock
    https://web1.example:9617
    http://127.0.0.1:9617

    Raises:
        InputError: none of these, or http to a host that is not on our own link.
    """
    text = text.removeprefix(PREFIX)
    scheme, _, rest = text.partition(":")
    if scheme == "unix":
        if not rest.startswith("/"):
            raise InputError("the path of a Unix socket must be absolute", value=text, hint=_HINT)
        return UnixAddress(rest)
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise InputError("an agent's address must be a URL", value=text, hint=_HINT) from error
    more = parts.path.removeprefix("/") or parts.query or parts.fragment or parts.username
    if scheme not in ("https", "http") or not host or more:
        raise InputError("an agent's address must be a Unix socket or an https host", value=text, hint=_HINT)
    port = PORT if port is None else port
    if scheme == "https":
        return HttpsAddress(host, port)
    if not _is_on_our_link(host):
        raise InputError("an agent must be reached over TCP with mutual TLS, as https", value=text, hint=_HINT)
    return HttpAddress(host, port)


def _is_on_our_link(host: str) -> bool:
    try:
        address = IPv4Address(host)
    except ValueError:
        return False
    return any(address in network for network in _OWN_LINK)
