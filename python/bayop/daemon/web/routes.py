"""Every path of the page's server, and what is answered there."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

from bayop import __version__
from bayop.daemon.metrics.exposition import CONTENT_TYPE
from bayop.daemon.metrics.scrape import scrape
from bayop.daemon.web import past
from bayop.daemon.web.content import Content, json_content
from bayop.daemon.web.view import View

Answer = Callable[[View], Content]
AnswerOf = Callable[[View, str], Content]
"""The same, of a service that is there."""


def _services(view: View) -> Content:
    return json_content({"services": view.services.standings(view.services.named(None)), "acts": view.acts})


def _metrics(view: View) -> Content:
    standings = view.services.stand(view.services.named(None))
    return Content(CONTENT_TYPE, scrape(standings, view.tally, version=__version__, cpu_s=time.process_time()))


def _map(view: View, name: str) -> Content:
    return view.maps.of(name, view.services.problem(name))


STREAM: Final = "/api/stream"
"""What happens, as it does (`stream.py`)."""

GET: Final[Mapping[str, Answer]] = {
    "/api/services": _services,
    "/metrics": _metrics,
}
"""By their path; the page's own files are in `static`."""

GET_OF_SERVICE: Final[Mapping[str, AnswerOf]] = {
    "": past.service,
    "map": _map,
}
"""By what follows `/api/services/NAME/`."""

ACTIONS: Final = ("pause", "resume", "trigger")
"""What may follow `/api/services/NAME/` in a POST: words of an operator."""

ACTIONS_ON_ALL: Final[Mapping[str, str]] = {"/api/pause": "pause", "/api/resume": "resume"}
"""The words that are said to all services at once, by the path of their POST."""
