"""One request to an agent: HTTP/1.1 and JSON over a Unix socket or mutual TLS, and every failure as one of our errors.

Each request has a connection of its own. A request is rare (a few in a window) and cheap (a Unix socket, or a few ms
of TLS); in return no connection grows stale, and the thread that renews the lease shares none.
"""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Final, TypeVar

from bayop.errors import BayopError, DriftError, InputError, UnsupportedError, unreadable
from bayop.exchange import Exchange, UnixConnection
from bayop.json_text import decoder
from bayop.live.agent import messages
from bayop.live.agent.address import Address, Credentials, HttpAddress, HttpsAddress, UnixAddress

T = TypeVar("T")

TIMEOUT_S: Final = 10.0
"""How long an answer may take as a whole. Applying is a matter of ms; a driver that resets its link takes seconds."""

_MOST_BYTES: Final = 8 << 20
_PAIR: Final = "openssl x509 -noout -pubkey and openssl pkey -pubout print the same of a certificate and its key"
_CA: Final = "it must be the CA of the agent's certificate, which must name the host of the agent's address"


class UnreachableError(UnsupportedError):
    """No agent answers at the address, or it does not let us in."""


class ConflictError(UnsupportedError):
    """The agent serves another holder, or knows this lease no longer."""


_ERRORS: Final[Mapping[str, type[BayopError]]] = {
    "input": InputError,
    "not_found": InputError,
    "too_large": InputError,
    "forbidden": UnsupportedError,
    "failed": BayopError,
    "unsupported": UnsupportedError,
    "conflict": ConflictError,
    "drift": DriftError,
}


class Transport:
    """Sends requests to one agent. Safe to use from several threads.

    Args:
        address: Where the agent listens.
        credentials: For mutual TLS; an https address needs them, a Unix socket has no use for them.

    Raises:
        InputError: the credentials are missing, superfluous or unusable.
    """

    def __init__(self, address: Address, credentials: Credentials | None = None) -> None:
        self.address = address
        self._tls: ssl.SSLContext | None = None
        if isinstance(address, HttpsAddress):
            self._tls = _mutual_tls(address, credentials)
        elif credentials is not None:
            raise InputError(
                "certificates must go with https: a Unix socket is protected by its group, plain http by nothing",
                value=str(address),
                hint="leave certificate, key and CA out",
            )

    def request(
        self, method: str, path: str, answer: type[T], body: object = None, *, timeout_s: float = TIMEOUT_S
    ) -> T:
        """The answer, decoded.

        Raises:
            UnreachableError: no agent answers.
            UnsupportedError: the answer is not what an agent of our version says.
            BayopError: the agent's own error, as the class of ours that its kind stands for.
        """
        text = self.ask(method, path, body, timeout_s=timeout_s)
        try:
            return messages.decode(path, text, answer)
        except (ValueError, RecursionError) as error:
            raise _no_agent(self.address, text) from error

    def ask(self, method: str, path: str, body: object = None, *, timeout_s: float = TIMEOUT_S) -> bytes:
        """The answer as it is.

        Raises:
            UnreachableError: no agent answers.
            BayopError: the agent's own error, as the class of ours that its kind stands for.
        """
        payload = None if body is None else json.dumps(body, allow_nan=False)
        headers = {"Connection": "close"} | ({"Content-Type": "application/json"} if payload is not None else {})
        try:
            with Exchange(self._connection(), limit_s=timeout_s, most_bytes=_MOST_BYTES) as exchange:
                reply = exchange.ask(method, path, payload, headers)
        except (OSError, HTTPException) as error:
            raise _unreachable(self.address, error, timeout_s) from error
        except ValueError as error:  # a chunk of negative length
            raise _no_agent(self.address, b"") from error
        if reply.status >= 400:
            raise _refusal(self.address, reply.body)
        return reply.body

    def _connection(self) -> HTTPConnection:
        if isinstance(self.address, UnixAddress):
            return UnixConnection(self.address.path)
        if isinstance(self.address, HttpAddress):
            return HTTPConnection(self.address.host, self.address.port)
        return HTTPSConnection(self.address.host, self.address.port, context=self._tls)


def _mutual_tls(address: HttpsAddress, credentials: Credentials | None) -> ssl.SSLContext:
    if credentials is None:
        raise InputError(
            "an https agent must be reached with mutual TLS",
            value=str(address),
            hint="add a table tls with certificate, key and ca",
        )
    for file in (credentials.certificate, credentials.key, credentials.ca):
        try:
            file.read_bytes()
        except (OSError, ValueError) as error:
            raise unreadable(file, error) from error
    try:
        context = ssl.create_default_context(cafile=credentials.ca)
    except ssl.SSLError as error:
        raise InputError(
            "a CA file must hold PEM certificates",
            value=str(credentials.ca),
            hint=f"openssl x509 -in {credentials.ca} -noout -subject says whether it does",
        ) from error
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_cert_chain(credentials.certificate, credentials.key, password=_no_password)
    except (ssl.SSLError, ValueError) as error:
        raise InputError(
            "the certificate and the key must be PEM files that belong together",
            value=f"{credentials.certificate}, {credentials.key}",
            hint=str(error) if isinstance(error, _EncryptedError) else _PAIR,
        ) from error
    return context


def _no_password() -> str:
    """Asked for by OpenSSL when a key is encrypted: a search can't wait at a prompt."""
    raise _EncryptedError("the key is encrypted: decrypt it first, and let only its owner read it")


class _EncryptedError(ValueError):
    """A key is."""


def _unreachable(address: Address, error: Exception, timeout_s: float) -> UnreachableError:
    place: str | None = str(address)
    start = "start it on the server: systemctl start bayop-agent; docs/install.md installs it"
    if isinstance(error, PermissionError):
        wrong, hint = (
            "this user may not talk to the agent",
            'join its group: sudo usermod -aG bayop "$USER", then log in anew',
        )
    elif isinstance(error, FileNotFoundError | ConnectionRefusedError):
        wrong, hint, place = f"no agent listens at {address}", start, None
    elif isinstance(error, ssl.SSLCertVerificationError):
        wrong, hint = "our CA did not sign the agent's certificate for this host name", _CA
    elif isinstance(error, ssl.SSLError) or (isinstance(address, HttpsAddress) and _is_hang_up(error)):
        wrong, hint = "the agent refuses our certificate", "it must be signed by the agent's client_ca"
    elif isinstance(error, socket.gaierror):
        wrong, hint = f"the agent's host has no address: {error.strerror}", "check the name"
    elif isinstance(error, TimeoutError):
        wrong, hint = (
            f"the agent did not answer within {timeout_s:g} s",
            "check the network, and the agent's log on the server",
        )
    elif _is_hang_up(error):
        wrong, hint = "the agent hung up before it had answered", "see its log: journalctl -u bayop-agent"
    else:
        wrong, hint = f"the agent can't be reached: {str(error) or type(error).__name__}", start
    return UnreachableError(wrong=wrong, place=place, hint=hint)


def _is_hang_up(error: Exception) -> bool:
    """Whether the other side closed the connection; http.client's RemoteDisconnected is a ConnectionResetError."""
    return isinstance(error, ConnectionResetError | BrokenPipeError)


def _no_agent(address: Address, text: bytes) -> UnreachableError:
    begin = text[:60].decode("utf-8", "replace")
    return UnreachableError(wrong=f"what answers is no bayop-agent: {begin!r}", value=begin, place=str(address))


def _refusal(address: Address, text: bytes) -> BayopError:
    try:
        error = decoder(messages.Failure).decode(text).error
    except (ValueError, RecursionError):
        return _no_agent(address, text)
    return error.to(_ERRORS[error.kind])
