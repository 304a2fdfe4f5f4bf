"""The page's own files, from the package: read once, when the server begins."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import PurePath
from typing import Final

from bayop.daemon.web.content import Content

_KINDS: Final[Mapping[str, str]] = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def page() -> Mapping[str, Content]:
    """Every file by its path; `/` is the page itself."""
    folder = files("bayop.daemon.web") / "static"
    found = {
        f"/{file.name}": Content(_KINDS[PurePath(file.name).suffix], file.read_bytes())
        for file in folder.iterdir()
        if PurePath(file.name).suffix in _KINDS
    }
    return {**found, "/": found.pop("/index.html")}
