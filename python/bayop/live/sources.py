"""The source of latency that a flag or a file names, looked at before anybody is asked."""

from __future__ import annotations

from bayop.latency.base import LatencySource
from bayop.latency.open_loop import OpenLoopProbe
from bayop.latency.sources import source_of
from bayop.load.server_url import ServerUrl
from bayop.slo import Slo


def checked_source(text: str, *, slo: Slo) -> LatencySource:
    """The source that a text names.

    Raises:
        InputError: it is known without asking anybody that it can't work.
    """
    source = source_of(text, slo=slo)
    if isinstance(source, OpenLoopProbe) and source.url is not None:
        ServerUrl.parse(source.url)
    return source
