"""A Linux server behind its agent as a target: settings are applied to a live machine, and taken back."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from bayop.errors import InputError, Parameter
from bayop.latency.base import LatencySource
from bayop.live.agent.address import SOCKET
from bayop.live.agent.checks import check_applies, check_held, check_restored
from bayop.live.agent.client import AgentClient
from bayop.live.agent.lease import STEP_S, TTL_S, Lease
from bayop.live.doubts import foreign_work
from bayop.live.effects import Effects
from bayop.live.patience import LOOK_S, Patience
from bayop.live.precision import Precision
from bayop.live.senses import Senses
from bayop.live.service import Service
from bayop.live.space import doubts as without_effect
from bayop.live.trial_guard import TrialGuard
from bayop.measurement import Measurement
from bayop.space import Setting, Space, default_setting

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
        window_s: How long one measurement takes; None for as long as `Senses` measures.
        settle_s: How long a setting works before it is measured.
        precision: When a trial's window is repeated; None for never.
        busy_before: How busy the machine was before its load began; None where nobody knows.
        patience: When a trial is measured again because a hypervisor took the processors away; None for never.
        guard: When a trial ends early, from the window of the default; None for never. While a window runs it needs a
            source that is `Watched`; of other sources it sees the load of every window that has ended.
        ttl_s: How long the machine may keep a setting after this process has died.
        service: The service, where somebody counts what it takes; None where nobody does.
        place: Where `load` or `latency` was given, for errors.

    Attributes:
        has_held: Whether it ever had the machine's lease.
        undo: The command that takes back what stays applied without a lease; None while nothing does.
        patience: What is left of it, and what it was for.

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
        guard: Callable[[Measurement], TrialGuard] | None = None,
        busy_before: float | None = None,
        ttl_s: float = TTL_S,
        patience: Patience | None = None,
        service: Service | None = None,
        place: Callable[[str], str] = Parameter,
    ) -> None:
        self._client = client
        self._space = space
        self._holder = holder
        self._settle_s, self._ttl_s = settle_s, ttl_s
        self._lease: Lease | None = None
        self.undo: str | None = None
        self.has_held = False
        self._setting = default_setting(space)
        self._effects = Effects()
        check_applies(client)
        self._senses = Senses(client, latency, window_s=window_s, precision=precision, service=service, place=place)
        self.patience = patience or Patience(0.5, 0.0)
        self._baseline = self.measure()
        self._senses.guard = None if guard is None else guard(self._baseline)
        self._qps = self._offered_qps(qps, place)
        self.busy_before = busy_before
        self._without_effect = without_effect(client.knobs(), space)
        self.description = self._senses.description

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
        return foreign_work(self.busy_before) + self.patience.doubts + self._without_effect

    @property
    def vantage(self) -> str:
        """Where its latency is measured."""
        return str(self._senses.vantage)

    @property
    def estimated(self) -> frozenset[str]:
        """Power and energy where a model stands in for a power meter."""
        return frozenset({"energy_j", "power_w"} if self._senses.meter.estimated else ())

    def apply(self, setting: Setting) -> Setting:
        """Writes the knobs and returns what they read back as.

        Raises:
            InputError: the setting is neither in the space nor was it ever in effect.
            DriftError: the kernel did not take it, or the lease was lost; what was written is taken back.
        """
        request = self._effects.request_of(setting) or self._space.check(setting)
        lease = self._held_lease()
        lease.expect(STEP_S)
        self._setting = self._effects.of(request, lambda request: self._client.apply(request, lease=lease.token))
        return self._setting

    def measure(self) -> Measurement:
        """The windows of one trial with the setting in effect, after it has settled.

        Where the hypervisor took the processors away meanwhile, the trial begins anew once they are back, as long as
        there is patience; until then the default is in effect.

        Raises:
            DriftError: the lease was lost, or somebody else changed a knob meanwhile.
            InputError: the source of latency failed.
        """
        while True:
            start_s = time.monotonic()
            measurement = self._trial()
            if not self.patience.begins_anew(measurement, time.monotonic() - start_s):
                return measurement
            self._wait_for_processors()

    def _wait_for_processors(self) -> None:
        setting, lease = self._setting, self._lease
        if lease is not None:
            self.apply(default_setting(self._space))
        while self.patience.goes_on(self._senses.stolen(LOOK_S, sleep=time.sleep if lease is None else lease.sleep)):
            pass
        if lease is not None:
            self.apply(setting)

    def _trial(self) -> Measurement:
        if self._lease is None:
            return self._senses.window({}, sleep=time.sleep)
        lease = self._lease
        lease.expect(self._settle_s)
        lease.sleep(self._settle_s)
        measurement = self._senses.trial(self._setting, qps=self._qps, sleep=lease.sleep, expect=lease.expect)
        lease.expect(STEP_S)
        check_held(self._client, self._space.ids)
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
            self.has_held = True
        self._lease.check()
        return self._lease

    def _release(self, *, keep: bool) -> None:
        lease, self._lease = self._lease, None
        if lease is None:
            return
        self._setting = default_setting(self._space)
        check_restored(lease.release(keep=keep))

    def _offered_qps(self, qps: float | None, place: Callable[[str], str]) -> float:
        offered_qps = self._baseline.get("qps") if qps is None else qps
        if offered_qps is None:
            raise InputError(
                wrong="the offered load is not known",
                place=place("load"),
                hint="say it, or let the source of latency count it",
            )
        return offered_qps
