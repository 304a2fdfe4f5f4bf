"""`[web]` of a `bayop.toml`: where the page is served, under which names, and who may act by it."""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Final, Self

from bayop.errors import InputError
from bayop.hosts import is_loopback
from bayop.secret_file import read_secret
from bayop.toml_file import Reader, TomlFile, text

_PORT: Final = 9464
_LISTEN: Final = re.compile(r"(?:\[(?P<v6>[^\]]+)\]|(?P<v4>[^:\[\]]+)):(?P<port>[0-9]{1,5})")
_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,252}[A-Za-z0-9])?")
_TOKEN: Final = re.compile(r"(?P<who>[A-Za-z0-9][A-Za-z0-9_.@-]{0,31})[ \t]+(?P<token>[A-Za-z0-9_+/=.~-]{16,256})")
_LISTEN_HINT: Final = f'an address and a port, such as listen = "127.0.0.1:{_PORT}" or "[::1]:{_PORT}"'


@dataclass(frozen=True, slots=True)
class WebFile:
    """What the file says of the page.

    Attributes:
        host: The address to listen at, without brackets.
        port: The port; 0 for any that is free.
        names: Names beside localhost by which a proxy or the network calls it.
        token_file: Who may act, and, other than on this machine, look; None where nobody may act.
    """

    host: str
    port: int
    names: tuple[str, ...]
    token_file: Path | None

    @classmethod
    def read(cls, file: TomlFile, folder: Path) -> Self | None:
        """The table `[web]`; None where there is none. Paths are relative to `folder`.

        Raises:
            InputError: it has a value that is not what it has to be, or would be open to the network.
        """
        if "web" not in file.table_names():
            return None
        values = file.read("web", _WEB)
        host, port = values.get("listen", ("127.0.0.1", _PORT))
        named = values.get("token_file")
        token_file = None if named is None else folder / named
        if token_file is not None:
            file.at("web", "token_file", lambda: tokens_of(token_file))
        web = cls(host, port, values.get("names", ()), token_file)
        if not web.is_local and token_file is None:
            raise InputError(
                "a page must have a token file to be served other than on this machine",
                value=host,
                place=file.place("web", "listen"),
                hint='token_file = "web.token", or listen = "127.0.0.1:9464"',
            )
        return web

    @property
    def is_local(self) -> bool:
        """Whether nobody but this machine's own programs can reach it."""
        return is_loopback(self.host)

    def url(self, port: int) -> str:
        """Where the page is, for people."""
        return f"http://[{self.host}]:{port}/" if ":" in self.host else f"http://{self.host}:{port}/"

    def who(self, token: str) -> str | None:
        """Whose a token is; None where it is nobody's. The file is read anew: a line that is taken out counts no more.

        Raises:
            InputError: the file can't be used.
        """
        if self.token_file is None:
            return None
        found = None
        for known, who in tokens_of(self.token_file).items():
            if hmac.compare_digest(known.encode(), token.encode()):
                found = who
        return found


def tokens_of(path: Path) -> Mapping[str, str]:
    """Whose each token is: a line for each, NAME TOKEN; empty ones and those that begin with # say nothing.

    Raises:
        InputError: it can't be read, others may read it, or a line is none.
    """
    tokens = {}
    for number, line in enumerate(read_secret(path).splitlines(), start=1):
        if not (words := line.strip()) or words.startswith("#"):
            continue
        if (match := _TOKEN.fullmatch(words)) is None:
            rule = "a line must be a name and a token of 16 to 256 letters, digits and _+/=.~-"
            # What the line holds may be a secret.
            raise InputError(
                rule, wrong="a line is no token", place=f"{path}:{number}", hint="alice 9f86d081884c7d65..."
            )
        tokens[match["token"]] = match["who"]
    if not tokens:
        raise InputError("a token file must have a token", value=str(path), hint="openssl rand -hex 32 makes one")
    return tokens


def _listen(value: object) -> tuple[str, int]:
    match = _LISTEN.fullmatch(text(value))
    rule = "it must be an IP address and a port"
    if match is None or int(match["port"]) > 65_535:
        raise InputError(rule, value=value, hint=_LISTEN_HINT)
    host = match["v6"] or match["v4"]
    try:
        return str(ip_address(host)), int(match["port"])
    except ValueError as error:
        raise InputError(rule, value=value, hint=_LISTEN_HINT) from error


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) and _NAME.fullmatch(name) for name in value):
        raise InputError("it must be a list of host names", value=value, hint='names = ["bayop.example.com"]')
    return tuple(name.lower() for name in value)


_WEB: Final[Mapping[str, Reader]] = {"listen": _listen, "names": _names, "token_file": text}
