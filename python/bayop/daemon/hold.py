"""A setting that the agent holds under its own guard, from one search to the next."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Final

from bayop.daemon.file import HoldTerms
from bayop.errors import DriftError
from bayop.latency.base import Latency
from bayop.live.agent.client import AgentClient
from bayop.live.agent.messages import Applied, Condition, Conditions
from bayop.live.agent.transport import UnreachableError
from bayop.space import Setting

_LOOKS: Final = 2
"""How often the agent is asked in one window whether it still holds."""
_OFTEN_S: Final = 0.5
"""It is never asked more often than this."""


class FellBackError(Exception):
    """The agent holds no more.

    Attributes:
        why: What it saw, for people.
        condition: Which condition broke.
    """

    def __init__(self, why: str, condition: Condition) -> None:
        self.why, self.condition = why, condition
        super().__init__(why)


class Hold:
    """What is asked of the agent while it holds a setting, if it does. A network cut for a moment does not end a hold.

    Args:
        client: The agent.
        terms: What the file says of it.
        conditions: Under which the agent holds.
        watch_s: How long the windows are in which the setting is watched.
    """

    def __init__(self, client: AgentClient, terms: HoldTerms, conditions: Conditions, *, watch_s: float) -> None:
        self._look_s = max(watch_s / _LOOKS, _OFTEN_S)
        self._client, self._terms, self._conditions = client, terms, conditions
        self._since_s: float | None = None
        self._looked_s = 0.0
        self._pushed: Latency | None = None

    def begin(self, request: Setting, lease: str) -> Applied:
        """Has the agent hold a setting, or hold it for its longest time anew."""
        applied = self._client.hold(request, fall_back={}, conditions=self._conditions, lease=lease)
        self._since_s = time.monotonic()
        return applied

    def end(self) -> None:
        """Nothing is held any more."""
        self._since_s = None

    @property
    def is_ageing(self) -> bool:
        """Whether half of its longest time is over."""
        return self._since_s is not None and time.monotonic() - self._since_s > self._terms.longest_s / 2

    def push(self, latency: Latency) -> None:
        """Tells the agent's guard what clients see, once."""
        if self._since_s is None or self._conditions.latency is None or latency is self._pushed:
            return
        self._pushed = latency
        with suppress(UnreachableError):  # that it hears nothing is news to the guard, too
            self._client.push(latency)

    def glance(self) -> None:
        """`look`, but not more often than is worth it."""
        if time.monotonic() - self._looked_s > self._look_s:
            self.look()

    def look(self) -> None:
        """Asks whether the agent still holds what it should.

        Raises:
            FellBackError: it put the default back, because a condition was not met.
            DriftError: somebody else ended it.
        """
        self._looked_s = time.monotonic()
        if self._since_s is None:
            return
        with suppress(UnreachableError):
            holding = self._client.holding()
            if holding is None:
                raise DriftError(
                    wrong="the agent does not hold the setting any more",
                    place=str(self._client.address),
                    hint="it was restored or applied anew by somebody else: bayop status says by whom",
                )
            if (fell_back := holding.fell_back) is not None:
                raise FellBackError(fell_back.seen, fell_back.condition)
