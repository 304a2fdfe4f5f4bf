"""`[notify]` of a `bayop.toml`: who is told, and of what."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit

from bayop.errors import InputError, guess
from bayop.events.declared import EVENTS
from bayop.hosts import is_loopback
from bayop.secret_file import read_secret
from bayop.toml_file import Reader, TomlFile, text

NOT_DELIVERED: Final = "not-notified"
"""The event that tells of a notice that got lost, which is nothing to be notified of."""
_DEFAULT: Final = ("trouble", "fell-back", "halted")
_MAY: Final = tuple(dict.fromkeys(e.name for e in EVENTS["run"] if e.name not in ("service", NOT_DELIVERED)))
_TOKEN: Final = re.compile(r"[!-~]{1,1024}")
_HINT: Final = 'url = "https://hooks.example.com/bayop"'


@dataclass(frozen=True, slots=True)
class Notify:
    """What the file says of notices.

    Attributes:
        url: Where they are sent, `http://` or `https://`; it may hold a secret, so no message names more than its host.
        events: Names of the events of `bayop run` that are told.
        token_file: The bearer token that is sent along; None for none.
    """

    url: str
    events: tuple[str, ...]
    token_file: Path | None

    @classmethod
    def read(cls, file: TomlFile, folder: Path) -> Self | None:
        """The table `[notify]`; None where there is none. Paths are relative to `folder`.

        Raises:
            InputError: it has a value that is not what it has to be, or the token can't be read.
        """
        if "notify" not in file.table_names():
            return None
        values = file.read("notify", _NOTIFY)
        if "url" not in values:
            raise InputError(wrong="[notify] has no url", place=file.place("notify"), hint=_HINT)
        named = values.get("token_file")
        notify = cls(values["url"], values.get("events", _DEFAULT), None if named is None else folder / named)
        file.at("notify", "token_file", notify.token)
        if named is not None and values["url"].startswith("http://") and not is_loopback(notify.host):
            raise InputError(
                "an address must begin with https:// for a token to be sent there",
                wrong="others could read the token on its way",
                place=file.place("notify", "url"),
                hint=_HINT,
            )
        return notify

    @property
    def host(self) -> str:
        """Who is told, for people."""
        return urlsplit(self.url).hostname or ""

    def token(self) -> str | None:
        """What the token file holds now, so that another token counts at once.

        Raises:
            InputError: it can't be read, others may read it, or it holds no token.
        """
        path = self.token_file
        if path is None:
            return None
        token = read_secret(path).strip()
        if not _TOKEN.fullmatch(token):
            # What it holds may be a secret.
            raise InputError("a token file must have one token", wrong="it has none", place=str(path))
        return token


def _url(value: object) -> str:
    url = text(value)
    try:
        parts = urlsplit(url)
        is_one = url.startswith(("http://", "https://")) and bool(parts.hostname) and parts.port != 0
        is_one = is_one and parts.username is None and re.fullmatch(r"[!-~]+", url) is not None
    except ValueError:
        is_one = False
    if not is_one:
        raise InputError("it must be an address that begins with http:// or https://", wrong="it is none", hint=_HINT)
    return url


def _events(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(name, str) for name in value):
        raise InputError("it must be a list of events", value=value, hint='events = ["trouble", "fell-back"]')
    if unknown := [name for name in value if name not in _MAY]:
        hint = guess(unknown[0], _MAY) or f"one of {', '.join(_MAY)}"
        raise InputError(wrong=f"there is no event {unknown[0]!r}", value=unknown[0], hint=hint)
    return tuple(value)


_NOTIFY: Final[Mapping[str, Reader]] = {"url": _url, "events": _events, "token_file": text}
