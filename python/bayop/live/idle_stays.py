"""Stays of a live machine's CPUs in idle states, counted by its agent."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bayop.errors import DriftError
from bayop.idle.counter import Counting, Window
from bayop.live.agent.client import AgentClient
from bayop.live.agent.messages import Stays


def counted_by(client: AgentClient, *, window_s: float, sleep: Callable[[float], None]) -> Counting:
    """What the agent counts, window by window, for as long as somebody takes windows.

    Args:
        client: The agent.
        window_s: How long a window lasts.
        sleep: How to wait.

    Raises:
        BayopError: the agent counts nothing; so do its windows when it counts no more.
    """
    first = client.idle_stays()
    return Counting(first.states, first.bounds_us, _windows(client, first, window_s, sleep))


def _windows(client: AgentClient, before: Stays, window_s: float, sleep: Callable[[float], None]) -> Iterator[Window]:
    while True:
        sleep(window_s)
        now = client.idle_stays()
        if (now.states, now.bounds_us) != (before.states, before.bounds_us):
            raise DriftError(wrong="the machine has other idle states than before", hint="start again")
        yield _window(before, now)
        before = now


def _window(before: Stays, now: Stays) -> Window:
    """What came between two answers; all of it where a counting began meanwhile."""
    if now.began_s != before.began_s:
        return Window.of(now.duration_s, now.stays)
    earlier = {(cpu, state, bin_): stays for cpu, state, bin_, stays in before.stays}
    new = ((cpu, state, bin_, stays - earlier.get((cpu, state, bin_), 0)) for cpu, state, bin_, stays in now.stays)
    return Window.of(now.duration_s - before.duration_s, (row for row in new if row[3]))
