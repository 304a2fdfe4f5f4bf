"""What is remembered of a service, as the page shows it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from bayop.daemon.web.content import Content, RefusedError, json_content
from bayop.daemon.web.view import View
from bayop.errors import InputError
from bayop.state.records import Table, read


def service(view: View, name: str) -> Content:
    """How a service stands, and its last windows, searches and events; what is damaged is left out, and told."""
    damaged: list[InputError] = []

    def rows(table: Table, last: int, phase: str | None = None) -> list[dict[str, Any]]:
        try:
            return read(view.state, table, service=name, phase=phase, last=last, on_damage=damaged.append)
        except InputError as error:
            raise RefusedError(HTTPStatus.INTERNAL_SERVER_ERROR, error) from error

    standing = view.services.standings([name])
    return json_content(
        {
            "service": standing[0] if standing else None,
            "default": next(iter(rows("window", 1, phase="default")), None),
            "windows": rows("window", 360),
            "searches": rows("search", 30),
            "events": rows("event", 100),
            "damaged": list(dict.fromkeys(error.message for error in damaged)),
        }
    )
