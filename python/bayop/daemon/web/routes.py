"""Every path of the page's server, and what is answered there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from bayop.daemon.web import past
from bayop.daemon.web.content import Content, json_content
from bayop.daemon.web.view import View

Answer = Callable[[View], Content]
AnswerOf = Callable[[View, str], Content]
"""The same, of a service that is there."""


def _services(view: View) -> Content:
    return json_content({"services": view.services.standings(view.services.named(None)), "acts": view.acts})


def _map(view: View, name: str) -> Content:
    return view.maps.of(name, view.services.problem(name))


STREAM: Final = "/api/stream"
"""What happens, as it does (`stream.py`)."""

GET: Final[Mapping[str, Answer]] = {
    "/api/services": _services,
}
"""By their path; the page's own files are in `static`."""

GET_OF_SERVICE: Final[Mapping[str, AnswerOf]] = {
    "": past.service,
    "map": _map,
}
"""By what follows `/api/services/NAME/`."""

ACTIONS: Final = ("pause", "resume", "trigger")
"""What may follow `/api/services/NAME/` in a POST: words of an operator."""
