"""A Linux server behind its agent as a target: settings are applied to a live machine, and taken back."""

from __future__ import annotations

import time
from types import MappingProxyType, TracebackType
from typing import Final, Self

from bayop.errors import DriftError, InputError, UnsupportedError
from bayop.latency.base import LatencySource, Sampling
from bayop.live.agent.address import SOCKET
from bayop.live.agent.client import AgentClient
from bayop.live.agent.lease import STEP_S, TTL_S, Lease
from bayop.live.agent.messages import Applied, Restored
from bayop.live.agent.transport import ConflictError
from bayop.live.doubts import foreign_work
from bayop.live.precision import Precision
from bayop.live.senses import Senses
from bayop.live.space import doubts as without_effect
from bayop.live.trial_guard import TrialGuard
from bayop.measurement import Measurement
from bayop.space import AUTO, Setting, Space, Value, default_setting

WINDOW_S: Final = 2.0
"""How long one measurement takes. A p99 needs some thousand requests, a power meter some updates."""

SETTLE_S: Final = 0.5
"""How long a setting works before it is measured: queues drain, the meter's own average moves on."""


class AgentTarget:
    """One live machine with one service under a stable load.

    Measures the default first, before anything is applied. Takes the agent's lease with the first setting and gives
    it back in `restore` or `keep`; if this process dies or is cut off, the agent ends it and restores the machine.

    Args:
        client: The machine's agent.
        space: The knobs to set; every other knob of the machine is left alone.
        latency: What the service's clients see.
        holder: Who we are, as other people read it in the agent's status.
        qps: Offered load, in requests/s; None to take it from the source of latency.
        window_s: How long one measurement takes; None for `WINDOW_S`, or longer where the source of latency needs it.
        settle_s: How long a setting works before it is measured.
        precision: When a trial's window is repeated; None for never.
        busy_before: How busy the machine was before its load began; None where nobody knows.
        guard: When a trial ends early; None for never. While a window runs it needs a source that is `Watched`;
            of other sources it sees the load of every window that has ended.
        ttl_s: How long the machine may keep a setting after this process has died.

    Attributes:
        undo: The command that takes back what stays applied without a lease; None while nothing does.

    Raises:
        UnsupportedError: the agent can't be reached, does not apply settings, or has no power meter.
        InputError: the source of latency fails, or nothing tells the load.
    """

    name = "agent"
    is_live = True

    def __init__(
        self,
        client: AgentClient,
        space: Space,
        latency: LatencySource,
        *,
        holder: str,
        qps: float | None = None,
        window_s: float | None = None,
        settle_s: float = SETTLE_S,
        precision: Precision | None = None,
        guard: TrialGuard | None = None,
        busy_before: float | None = None,
        ttl_s: float = TTL_S,
    ) -> None:
        self._client = client
        self._space = space
        self._holder = holder
        self._settle_s, self._ttl_s = settle_s, ttl_s
        self._lease: Lease | None = None
        self.undo: str | None = None
        self._setting = default_setting(space)
        # What was asked when a setting came into effect: a driver may not take what it shows.
        self._requests: dict[frozenset[tuple[str, Value]], Setting] = {}
        check_applies(client)
        if window_s is None:
            window_s = max(WINDOW_S, latency.least_window_s if isinstance(latency, Sampling) else 0.0)
        self._senses = Senses(client, latency, window_s=window_s, precision=precision, guard=guard)
        self._baseline = self._senses.window({}, sleep=time.sleep)
        self._qps = self._offered_qps(qps)
        self.busy_before = busy_before
        self._without_effect = without_effect(client.knobs(), space)
        meter = self._senses.meter
        power = f"power {'estimated' if meter.estimated else 'measured'} by {meter.source}"
        self.description = f"the machine at {client.address} ({power}, latency seen by the {self._senses.vantage})"

    @property
    def space(self) -> Space:
        """The knobs to set; each can also be left alone."""
        return self._space

    @property
    def quantities(self) -> frozenset[str]:
        """What the first window showed."""
        return frozenset(self._baseline.quantities)

    @property
    def qps(self) -> float:
        """Offered load, in requests/s."""
        return self._qps

    @property
    def doubts(self) -> list[str]:
        """What makes its numbers doubtful whatever is measured, for people."""
        return foreign_work(self.busy_before) + self._without_effect

    @property
    def vantage(self) -> str:
        """Where its latency is measured."""
        return str(self._senses.vantage)

    @property
    def estimated(self) -> frozenset[str]:
        """Power and energy where a model of utilization stands in for a power meter."""
        return frozenset({"energy_j", "power_w"} if self._senses.meter.estimated else ())

    def apply(self, setting: Setting) -> Setting:
        """Writes the knobs and returns what they read back as.

        Raises:
            InputError: the setting is neither in the space nor was it ever in effect.
            DriftError: the kernel did not take it, or the lease was lost; what was written is taken back.
        """
        request = self._requests.get(frozenset(setting.items())) or self._space.check(setting)
        lease = self._held_lease()
        lease.expect(STEP_S)
        try:
            applied = self._client.apply(request, lease=lease.token)
        except ConflictError as error:
            # With the lease in our hands, whoever stands against us took a knob or the lease from us.
            raise DriftError.of(error) from error
        self._setting = MappingProxyType({k: _in_effect(k, v, applied) for k, v in request.items()})
        self._requests[frozenset(self._setting.items())] = request
        return self._setting

    def measure(self) -> Measurement:
        """The windows of one trial with the setting in effect, after it has settled.

        Raises:
            DriftError: the lease was lost, or somebody else changed a knob meanwhile.
            InputError: the source of latency failed.
        """
        if self._lease is None:
            return self._senses.window({}, sleep=time.sleep)
        lease = self._lease
        lease.expect(self._settle_s)
        lease.sleep(self._settle_s)
        measurement = self._senses.trial(self._setting, qps=self._qps, sleep=lease.sleep, expect=lease.expect)
        lease.expect(STEP_S)
        self._check_held()
        return measurement

    def baseline(self) -> Measurement:
        """The window that was measured before anything was applied."""
        return self._baseline

    def restore(self) -> None:
        """Gives the lease back; the agent restores what it found.

        Raises:
            DriftError: the lease was lost before, or the kernel refused an original value.
        """
        self._release(keep=False)

    def keep(self) -> str:
        """Gives the lease back and leaves the setting applied, until `bayop restore` or the agent's end.

        Returns:
            The command that takes it back.

        Raises:
            DriftError: the lease was lost before.
        """
        self._release(keep=True)
        address = str(self._client.address)
        self.undo = "bayop restore" if address == SOCKET else f"bayop restore --agent {address}"
        return self.undo

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Restores the machine, unless that is done."""
        self.restore()

    def _held_lease(self) -> Lease:
        if self._lease is None:
            self._lease = Lease(self._client, holder=self._holder, ttl_s=self._ttl_s)
        self._lease.check()
        return self._lease

    def _release(self, *, keep: bool) -> None:
        lease, self._lease = self._lease, None
        if lease is None:
            return
        self._setting = default_setting(self._space)
        check_restored(lease.release(keep=keep))

    def _offered_qps(self, qps: float | None) -> float:
        offered_qps = self._baseline.get("qps") if qps is None else qps
        if offered_qps is None:
            raise InputError(
                wrong="the offered load is not known",
                place="--load",
                hint="give --load, or let the latency command print qps",
            )
        return offered_qps

    def _check_held(self) -> None:
        """Refuses a window in which somebody else wrote one of our knobs."""
        for held in self._client.status().held:
            if held.state != "held" and held.knob.partition("@")[0] in self._space.ids:
                raise DriftError(
                    wrong=f"somebody else changed {held.knob} during the search",
                    value=held.knob,
                    place=held.reason,
                    hint="find who else writes it (bayop doctor names known rivals), stop that, and search again",
                )


def _in_effect(knob_id: str, request: Value, applied: Applied) -> Value:
    """The one value of a knob in all its places.

    Raises:
        DriftError: its places differ; a search needs one number.
    """
    if request == AUTO:
        # Handed back: at its original value in every place, whatever that is.
        return AUTO
    effective = applied.setting[knob_id]
    if effective is None:
        places = [c for c in applied.changes if c.knob.partition("@")[0] == knob_id]
        values = ", ".join(f"{c.knob} {c.effective}" for c in places)
        raise DriftError(
            wrong=f"{knob_id} has more than one value: {values}",
            place=f"asked for {request}",
            hint=f'their drivers round differently: name one of the places in [allow."{knob_id}"]',
        )
    return effective


def check_applies(client: AgentClient) -> None:
    """Refuses an agent that only looks.

    Raises:
        UnsupportedError: its mode is not `apply`.
    """
    mode = client.status().mode
    if mode != "apply":
        raise UnsupportedError(
            "the agent must be in mode apply",
            wrong=f"the agent is in mode {mode}",
            value=f"mode {mode}",
            place=str(client.address),
            hint='set mode = "apply" in /etc/bayop/agent.toml on the server and restart bayop-agent; --dry-run needs '
            "no such mode",
        )


def check_restored(restored: Restored) -> None:
    """Refuses to call a machine restored that is not.

    Raises:
        DriftError: the kernel did not take an original value back.
    """
    if restored.latched:
        raise DriftError(
            wrong="not every knob has its original value back: "
            + "; ".join(f"{latched.knob}: {latched.reason}" for latched in restored.latched),
            hint="bayop restore tries again; on the server, bayop-agent restore --print shows the commands",
        )
