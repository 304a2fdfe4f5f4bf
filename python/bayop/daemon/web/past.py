"""What is remembered of a service, as the page shows it."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from bayop.daemon.web.content import Content, RefusedError, json_content
from bayop.daemon.web.view import View
from bayop.errors import InputError
from bayop.state.records import Table, read

_MOST: Final[dict[Table, int]] = {"window": 360, "search": 30, "event": 100}
"""So many rows of each table are shown, the newest."""


def service(view: View, name: str) -> Content:
    """How a service stands, and its last windows, searches and events."""
    standing = view.services.standings([name])
    return json_content(
        {
            "service": standing[0] if standing else None,
            "default": _default(view.state, name),
            "windows": _rows(view.state, "window", name),
            "searches": _rows(view.state, "search", name),
            "events": _rows(view.state, "event", name),
        }
    )


def _default(state: Path, name: str) -> dict[str, Any] | None:
    """The last window of the default."""
    try:
        rows = read(state, "window", service=name, phase="default", last=1)
    except InputError as error:
        raise RefusedError(HTTPStatus.INTERNAL_SERVER_ERROR, error) from error
    return rows[0] if rows else None


def _rows(state: Path, table: Table, name: str) -> list[dict[str, Any]]:
    try:
        return read(state, table, service=name, last=_MOST[table])
    except InputError as error:
        raise RefusedError(HTTPStatus.INTERNAL_SERVER_ERROR, error) from error
