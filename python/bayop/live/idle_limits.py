"""How deeply each CPU of a live machine may sleep, written by its agent and taken back however the work ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from bayop.live.agent.checks import check_applies, check_held, check_restored
from bayop.live.agent.client import AgentClient
from bayop.live.agent.lease import STEP_S, Lease
from bayop.live.space import writable_knob
from bayop.space import MAX_LATENCY_US


class IdleLimits:
    """Limits under a lease.

    Args:
        client: The agent.
        lease: Who writes.
    """

    def __init__(self, client: AgentClient, lease: Lease) -> None:
        self._client = client
        self._lease = lease

    def write(self, of_cpu: Mapping[int, int]) -> None:
        """Limits some CPUs, in us, and goes on for another step.

        Raises:
            BayopError: the agent refuses one, and none is written.
            DriftError: somebody else has changed a limit, or the lease was lost.
        """
        self._lease.expect(STEP_S)
        check_held(self._client, {MAX_LATENCY_US})
        if of_cpu:
            setting = {f"{MAX_LATENCY_US}@cpu{cpu}": float(limit_us) for cpu, limit_us in of_cpu.items()}
            self._client.apply(setting, lease=self._lease.token)


@contextmanager
def idle_limits(client: AgentClient, *, holder: str) -> Iterator[IdleLimits]:
    """Limits for as long as the block runs; who dies in it leaves them for a lease's length of seconds.

    Raises:
        ConflictError: somebody else holds the machine's lease.
        UnsupportedError: the agent only looks, the machine knows no such limit, or it is on no allow-list.
        DriftError: the machine is not as it was.
    """
    check_applies(client)
    writable_knob(client.knobs(), MAX_LATENCY_US)
    lease = Lease(client, holder=holder)
    try:
        yield IdleLimits(client, lease)
    finally:
        check_restored(lease.release(keep=False))
