"""Who may ask for what: whose name the page goes by, from which page a request comes, and whose token it carries."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from bayop.daemon.web.content import RefusedError
from bayop.daemon.web.file import WebFile
from bayop.daemon.web.request import Request
from bayop.errors import BayopError, InputError, UnsupportedError
from bayop.hosts import is_ip_address

_SCHEME: Final = "bearer "


class Gate:
    """Lets requests in.

    Args:
        web: What the file says.
    """

    def __init__(self, web: WebFile) -> None:
        self._web = web

    def check_host(self, request: Request) -> None:
        """Refuses a request by another name: a page elsewhere whose name was made to lead here (DNS rebinding).

        Raises:
            RefusedError: it is one.
        """
        host = _host_of(request.headers.get("host", ""))
        if host is None or not (is_ip_address(host) or host == "localhost" or host in self._web.names):
            hint = 'localhost, an IP address, or a name in [web] names = ["bayop.example.com"]'
            error = InputError(
                "the page must be asked for by a name of its own", wrong="the host is refused", hint=hint
            )
            raise RefusedError(HTTPStatus.MISDIRECTED_REQUEST, error)

    def check_reader(self, request: Request) -> None:
        """Refuses to show services to the network without a token.

        Raises:
            RefusedError: there is none that counts.
        """
        if not self._web.is_local:
            self._who(request)

    def actor(self, request: Request) -> str:
        """Who acts, for people.

        Raises:
            RefusedError: nobody may, a page elsewhere wants it, or there is no token that counts.
        """
        if self._web.token_file is None:
            raise _forbidden(
                UnsupportedError(
                    "a page must have a token file to be acted by",
                    wrong="this page is to be looked at only",
                    hint='token_file = "web.token" in [web]; bayop pause, resume and trigger need none',
                )
            )
        origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "same-origin")
        here = request.headers.get("host", "")
        if site not in ("same-origin", "none") or origin not in (None, f"http://{here}", f"https://{here}"):
            raise _forbidden(InputError("who acts must come from this page", wrong="a page elsewhere may not act"))
        return f"{self._who(request)} (web, {request.peer})"

    def _who(self, request: Request) -> str:
        words = request.headers.get("authorization", "")
        token = words[len(_SCHEME) :].strip() if words.lower().startswith(_SCHEME) else ""
        try:
            who = self._web.who(token)
        except BayopError as error:
            raise _forbidden(error) from error
        if who is None:
            unknown = InputError(
                "who asks must have a token of the token file",
                wrong="the token is not known" if token else "there is no token",
                hint="send Authorization: Bearer TOKEN",
            )
            raise RefusedError(HTTPStatus.UNAUTHORIZED, unknown, {"WWW-Authenticate": "Bearer"})
        return who


def _forbidden(error: BayopError) -> RefusedError:
    return RefusedError(HTTPStatus.FORBIDDEN, error)


def _host_of(header: str) -> str | None:
    """The host of a `Host:`, without its port and brackets; None where it is none."""
    try:
        parts = urlsplit(f"//{header}")
        parts.port  # noqa: B018 -- raises where it is no number
    except ValueError:
        return None
    # All of it: what a path, a query or a fragment would follow is no host.
    return None if parts.username is not None or parts.netloc != header else parts.hostname
