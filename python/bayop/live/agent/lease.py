"""Holding an agent's lease for as long as we work: whoever dies or is cut off leaves a restored machine behind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import Final

from bayop.errors import BayopError, DriftError
from bayop.live.agent.client import AgentClient
from bayop.live.agent.messages import Released
from bayop.live.agent.transport import ConflictError, UnreachableError

TTL_S: Final = 10.0
"""How long a machine may keep a setting after its brain has died."""

STEP_S: Final = 60.0
"""How long the work may take for a step of unknown length: an optimizer thinks, a person reads."""


class Lease:
    """A lease that a thread renews, three times in each `ttl_s`, while the work that it is for goes on.

    Before each step the work says how long it takes at most (`expect`). Once that time is over, nothing is renewed
    before the next step begins: a step may be late by half a `ttl_s`, and work that hangs loses the lease.

    Args:
        client: The agent.
        holder: Who we are, as other people read it in `bayop-agent`'s status.
        ttl_s: How long the agent waits for a renewal before it restores the machine.

    Raises:
        ConflictError: somebody else holds the lease.
        UnreachableError: no agent answers.
    """

    def __init__(self, client: AgentClient, *, holder: str, ttl_s: float = TTL_S) -> None:
        self._client = client
        self._ttl_s = ttl_s
        self.token = client.acquire(holder, ttl_s)
        self._lost: BayopError | None = None
        # Set when there is nothing to renew any more: the lease was lost or is ours to end.
        self._over = threading.Event()
        # Set when the thread has to look at what has changed: the length of the lease, or its end.
        self._changed = threading.Event()
        self._due = monotonic() + STEP_S
        self._thread = threading.Thread(target=self._renew, name="bayop-lease", daemon=True)
        self._thread.start()

    def last(self, ttl_s: float) -> None:
        """Changes how long the agent waits for a renewal: seconds during a search, minutes while a setting is held.

        Raises:
            DriftError: the lease was lost.
        """
        if ttl_s == self._ttl_s:
            return
        self.check()
        try:
            self._client.renew(self.token, timeout_s=min(ttl_s, self._ttl_s) / 4, ttl_s=ttl_s)
        except (UnreachableError, ConflictError) as error:
            raise lost(self._client, error) from error
        self._ttl_s = ttl_s
        self._changed.set()

    def expect(self, duration_s: float) -> None:
        """Begins a step of the work, which ends within `duration_s`.

        Raises:
            DriftError: the lease was lost.
        """
        self.check()
        self._due = monotonic() + duration_s

    def check(self) -> None:
        """Returns while we have the lease.

        Raises:
            DriftError: it was lost.
        """
        if self._lost is not None:
            raise lost(self._client, self._lost)

    def sleep(self, duration_s: float, *, wait: Callable[[float], object] | None = None) -> None:
        """Waits, within a step or as one.

        Args:
            duration_s: How long.
            wait: How to wait; None to end early when the lease is lost.

        Raises:
            DriftError: it was lost.
        """
        self._due = max(self._due, monotonic() + duration_s)
        (wait or self._over.wait)(duration_s)
        self.check()

    def release(self, *, keep: bool) -> Released:
        """Ends the lease; the machine's own values are back unless `keep`.

        Raises:
            DriftError: it was lost, before or now.
        """
        self._over.set()
        self._changed.set()
        self._thread.join()
        self.check()
        try:
            return self._client.release(self.token, keep=keep)
        except (UnreachableError, ConflictError) as error:
            raise lost(self._client, error) from error

    def _renew(self) -> None:
        ends = monotonic() + self._ttl_s
        pause_s = self._ttl_s / 3
        while True:
            is_changed = self._changed.wait(pause_s)
            if self._over.is_set():
                return
            asked = monotonic()
            if is_changed:
                self._changed.clear()
                ends, pause_s = asked + self._ttl_s, self._ttl_s / 3
                continue
            if asked > self._due:
                pause_s = self._ttl_s / 20
                continue
            try:
                # What was lost while a network card reset its link is asked anew, and not waited for.
                self._client.renew(self.token, timeout_s=self._ttl_s / 4)
            except UnreachableError as error:
                # A restart of the network may be shorter than the lease.
                if monotonic() < ends:
                    pause_s = self._ttl_s / 20
                    continue
                self._lost = error
            except BayopError as error:
                self._lost = error
            else:
                ends, pause_s = asked + self._ttl_s, self._ttl_s / 3
                continue
            self._over.set()
            return


def lost(client: AgentClient, cause: BayopError) -> DriftError:
    """What a search says when it is cut off from the machine that it tunes."""
    return DriftError(
        wrong=f"the agent ended the lease before the work was done ({cause.message})",
        place=str(client.address),
        hint="nothing stays applied: the agent restores the machine when the lease ends, or when it starts again",
    )
