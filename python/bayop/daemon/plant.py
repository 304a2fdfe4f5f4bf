"""A live machine as a controller steers it: trials under a lease of seconds, a held setting under the agent's guard."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from bayop.control.actions import FellBack
from bayop.daemon.file import ServiceFile
from bayop.daemon.hold import FellBackError, Hold
from bayop.errors import InputError
from bayop.latency.base import Asking, Latency, LatencySource, Watched
from bayop.live.agent.checks import check_applies, check_held, check_restored
from bayop.live.agent.client import AgentClient
from bayop.live.agent.lease import STEP_S, TTL_S, Lease
from bayop.live.agent.transport import ConflictError
from bayop.live.effects import Effects
from bayop.live.precision import Precision
from bayop.live.senses import Senses
from bayop.live.sources import checked_source
from bayop.live.trial_guard import TrialGuard
from bayop.measurement import Measurement
from bayop.space import Setting, Space

_STEP_S: Final = 1.0
"""How long a wait goes on in a trial before a lost lease is noticed."""
_STEPS: Final = 2
"""How many steps a window has for that while a setting is held, or nothing is."""
_LOOKS: Final = 60
"""How often what clients see is looked at while a held setting is watched for one window."""
_OFTEN_S: Final = 0.2
"""It is never looked at more often than this."""
_LONGEST_S: Final = 30.0
"""Nor is a step ever longer."""


class LivePlant:
    """One machine with its service, from its default on.

    Measures one window of the machine as it is before anything is applied. Whatever goes wrong later is raised, and
    `restore` puts the default back; where that can't be reached any more, the lease ends by itself.

    Args:
        service: What the file says of it.
        client: Its agent.
        space: What is searched; None where nothing is ever written to the machine.
        holder: Who we are, as other people read it in the agent's status.
        fell_back: Told when the agent holds no more.
        pause: Waits for so many seconds, never more than some, or less; what it raises ends whatever is under way.

    Raises:
        BayopError: the agent or the source of latency can't do what the file asks for.
    """

    def __init__(
        self,
        service: ServiceFile,
        client: AgentClient,
        space: Space | None,
        *,
        holder: str,
        fell_back: Callable[[FellBackError], None] = lambda _: None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        live, slo = service.live, service.slo
        self._client, self._holder, self._pause = client, holder, pause
        self._fell_back = fell_back
        self._hold = Hold(client, service.hold, service.hold.conditions(slo, live.settle_s), watch_s=service.watch_s)
        self._hold_lease_s = service.hold.lease_s
        self._latency: LatencySource = checked_source(live.latency or "", slo=slo)
        self._watched = self._latency if isinstance(self._latency, Watched) else None
        self._guard = TrialGuard(slo, live.latency_factor, load_band=None)
        self._settle_s = live.settle_s
        self._look_s = _look_s(self._latency, service.watch_s)
        self._knob_ids = space.ids if space is not None else ()
        self._lease: Lease | None = None
        self._setting: Setting = {}
        self._effects = Effects()
        if space is not None:
            check_applies(client)
            _check_free(client)
        self._senses = Senses(
            client,
            self._latency,
            window_s=live.window_s,
            precision=Precision(slo.quantity, live.interval, live.most_windows),
            guard=TrialGuard(slo, live.latency_factor, live.load_band),
            place=live.place,
        )
        self.baseline = self._senses.window({}, sleep=self._wait)
        self._live = live
        self.qps = self._qps_of(self.baseline)

    @property
    def description(self) -> str:
        """What it is, for people."""
        return self._senses.description

    @property
    def quantities(self) -> frozenset[str]:
        """What its windows show."""
        return frozenset(self.baseline.quantities)

    @property
    def trial_s(self) -> float:
        """How long a trial of one window takes."""
        return self._settle_s + self._senses.window_s

    @property
    def is_steered(self) -> bool:
        """Whether a setting is in effect, as far as the agent knows; ours or somebody else's."""
        return bool(self._client.status().held)

    def apply(self, setting: Setting) -> Setting:
        """Writes a setting for a trial; what is in effect.

        Raises:
            DriftError: the kernel did not take it, or the lease was lost.
        """
        lease = self._held_lease(TTL_S)
        self._hold.end()
        request = self._effects.request_of(setting) or setting
        self._setting = self._effects.of(request, lambda request: self._client.apply(request, lease=lease.token))
        return self._setting

    def hold(self, setting: Setting) -> Setting:
        """Has the agent hold a setting under the conditions of the file; what is in effect.

        Raises:
            DriftError: the kernel did not take it, or the lease was lost.
        """
        lease = self._held_lease(self._hold_lease_s)
        request = self._effects.request_of(setting) or setting
        self._setting = self._effects.of(request, lambda request: self._hold.begin(request, lease.token))
        return self._setting

    def trial(self) -> Measurement:
        """The windows of one trial, after the setting has settled; one that does harm is cut short.

        Raises:
            DriftError: the lease was lost, or somebody else changed a knob meanwhile.
            InputError: the source of latency failed.
        """
        lease = self._held_lease(TTL_S)
        self._wait(self._settle_s)
        measurement = self._senses.trial(self._setting, qps=self.qps, sleep=self._wait, expect=lease.expect)
        check_held(self._client, self._knob_ids)
        return self._seen(measurement)

    def watch(self, duration_s: float) -> Measurement | FellBack:
        """One window of what is held, or of the default; cut short when clients wait for much too long.

        Args:
            duration_s: How long; no shorter than the windows of a trial are.

        Raises:
            DriftError: the lease was lost, or somebody else changed a knob meanwhile.
            InputError: the source of latency failed.
        """
        duration_s = max(duration_s, self._senses.window_s)
        if self._hold.is_ageing:
            self.hold(self._setting)
        try:
            measurement = self._senses.window(
                self._setting,
                sleep=self._wait_and_look,
                expect=self._expect,
                duration_s=duration_s,
                is_watched=bool(self._setting),
            )
            if self._senses.latest is not None:
                self._hold.push(self._senses.latest)
            self._hold.look()
        except _HarmError as harm:
            return Measurement(harm.latency.quantities, cut_short=harm.why)
        except FellBackError as fell_back:
            self.restore()
            self._fell_back(fell_back)
            measurement = Measurement({}, cut_short=f"the agent fell back: {fell_back.why}")
            return FellBack(measurement, fell_back.condition == "latency")
        if self._lease is not None:
            check_held(self._client, self._knob_ids)
        return self._seen(measurement)

    def restore(self) -> None:
        """Gives the lease back; the agent restores what it found. May be called at any time and more than once.

        Raises:
            DriftError: the lease was lost before, or the kernel refused an original value.
        """
        lease, self._lease = self._lease, None
        self._setting = {}
        self._hold.end()
        if lease is not None:
            check_restored(lease.release(keep=False))

    def _held_lease(self, ttl_s: float) -> Lease:
        if self._lease is None:
            self._pause(0.0)
            self._lease = Lease(self._client, holder=self._holder, ttl_s=ttl_s)
        self._lease.last(ttl_s)
        self._lease.expect(STEP_S)
        return self._lease

    def _expect(self, duration_s: float) -> None:
        if self._lease is not None:
            self._lease.expect(duration_s)

    def _wait(self, duration_s: float, *, step_s: float = _STEP_S) -> None:
        """Waits, in steps after which a lost lease is noticed."""
        ends = time.monotonic() + duration_s
        while True:
            left_s = max(min(ends - time.monotonic(), step_s), 0.0)
            if self._lease is not None:
                self._lease.sleep(left_s, wait=self._pause)
            else:
                self._pause(left_s)
            if time.monotonic() >= ends:
                return

    def _wait_and_look(self, duration_s: float) -> None:
        ends = time.monotonic() + duration_s
        while True:
            self._wait(max(min(ends - time.monotonic(), self._look_s), 0.0), step_s=self._look_s)
            recent = None if self._watched is None else self._watched.recent()
            if recent is not None:
                self._heed(recent)
            self._hold.glance()
            if time.monotonic() >= ends:
                return

    def _heed(self, recent: Latency) -> None:
        """Looks at what clients see right now; where the agent has heard it too, its fall-back comes first."""
        self._hold.push(recent)
        if self._setting and (why := self._guard.objection(recent.quantities, self.qps)) is not None:
            self._hold.look()
            raise _HarmError(why, recent)

    def _seen(self, measurement: Measurement) -> Measurement:
        self._expect(STEP_S)  # until the next step begins, an optimizer thinks
        if not measurement.censored:
            self.qps = self._qps_of(measurement)
        return measurement

    def _qps_of(self, measurement: Measurement) -> float:
        qps = measurement.get("qps") or self._live.qps
        if qps is None:
            raise InputError(
                wrong="the offered load is not known",
                place=self._live.place("load"),
                hint="say qps, or let the source of latency count it",
            )
        return qps


def _look_s(latency: LatencySource, watch_s: float) -> float:
    """How long a step of a window is that is watched; nobody wakes to look at what can't have changed."""
    if isinstance(latency, Watched) and not (isinstance(latency, Asking) and latency.asks_between_sleeps):
        return min(max(watch_s / _LOOKS, _OFTEN_S), _STEP_S)
    return min(max(watch_s / _STEPS, _OFTEN_S), _LONGEST_S)


def _check_free(client: AgentClient) -> None:
    """Refuses a machine that is not as it was found: its default could not be measured.

    Raises:
        ConflictError: somebody holds its lease, or has left a setting applied.
    """
    status = client.status()
    if status.lease_holder is not None:
        raise ConflictError(wrong=f"{status.lease_holder} holds the agent's lease", place=str(client.address))
    if status.kept:
        raise ConflictError(
            wrong="a setting was left applied to the machine",
            place=str(client.address),
            hint="bayop restore puts the machine's own settings back",
        )


class _HarmError(Exception):
    """Clients wait for much too long."""

    def __init__(self, why: str, latency: Latency) -> None:
        self.why, self.latency = why, latency
        super().__init__(why)
