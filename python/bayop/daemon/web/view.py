"""What routes see of the daemon. Nothing here waits for a service, nor lets one wait."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bayop.daemon.metrics.tally import Tally
from bayop.daemon.services import Services
from bayop.daemon.web.feed import Feed
from bayop.daemon.web.map import Maps

Word = Callable[[str, str | None, str], list[dict[str, Any]]]
"""What an operator says: a verb, a service (None: all), and who says it; the events that tell what came of it."""


@dataclass(frozen=True, slots=True)
class View:
    """The daemon, as it may be looked at from several threads.

    Attributes:
        services: How services stand.
        state: The file of what is remembered, to be read by `bayop.state.records`.
        feed: What happens.
        word: What is done at somebody's word.
        clock: Seconds since 1970 (UTC), as events are dated.
        acts: Whether there is a token by which somebody may act.
        maps: What the models of services expect.
        tally: What was counted.
    """

    services: Services
    state: Path
    feed: Feed
    word: Word
    clock: Callable[[], float]
    acts: bool
    maps: Maps = field(default_factory=Maps)
    tally: Tally = field(default_factory=Tally)
