"""Viewers are told how services stand, after what happens and only while somebody looks on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from tests.support.patience import eventually

from bayop.daemon.services import Services
from bayop.daemon.web.feed import Feed
from bayop.daemon.web.standings import telling


class Two:
    """Two services, and how often somebody asked how each stands."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def named(self, name: str | None) -> list[str]:
        return ["web", "db"] if name is None else [name]

    def standings(self, names: list[str]) -> list[dict[str, object]]:
        self.asked += names
        return [{"event": "service", "service": name} for name in names]


def told(feed: Feed) -> list[Any]:
    words: list[Mapping[str, Any]] = feed.after(0, 0.0)[1] or []
    return [word["service"] for word in words if word["event"] == "service"]


def test_those_are_told_of_that_something_has_happened_to() -> None:
    services, feed = Two(), Feed()
    with telling(cast("Services", services), feed):
        with feed.watched(1):
            feed.put({"event": "window", "service": "db"})
            assert eventually(lambda: told(feed) == ["db"], within_s=10)
            feed.put({"event": "reloaded"})
            assert eventually(lambda: told(feed) == ["db", "web", "db"], within_s=10)
        feed.put({"event": "window", "service": "web"})
    assert services.asked == ["db", "web", "db"]
