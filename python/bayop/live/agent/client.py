"""The agent's verbs as methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlencode

import msgspec

from bayop.latency.base import Latency
from bayop.live.agent import messages
from bayop.live.agent.address import Address, Credentials, parse_address
from bayop.live.agent.transport import Transport
from bayop.space import Setting

_STORE_TTL_S: Final = 10.0
"""How long a lease lasts under which a calibration is stored."""


class AgentClient:
    """One agent. Every method raises a BayopError: the agent's own, or that it can't be reached."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @classmethod
    def at(cls, address: str | Address, credentials: Credentials | None = None) -> AgentClient:
        """The agent at an address, which may be as people write it. Connects to nothing yet.

        Raises:
            InputError: the address can't be read, or its credentials are missing or unusable.
        """
        return cls(Transport(parse_address(address) if isinstance(address, str) else address, credentials))

    @property
    def address(self) -> Address:
        """Where the agent listens."""
        return self._transport.address

    def status(self) -> messages.Status:
        """Mode, lease and held knobs."""
        return self._transport.request("GET", "/v1/status", messages.Status)

    def knobs(self) -> messages.MachineKnobs:
        """What the machine has, and what of it may be written."""
        return self._transport.request("GET", "/v1/knobs", messages.MachineKnobs)

    def sensors(self) -> tuple[messages.Reading, ...]:
        """Every sensor, read now."""
        return self._transport.request("GET", "/v1/sensors", messages.Readings).readings

    def doctor(self) -> tuple[messages.Finding, ...]:
        """What this machine lets BayOp control and measure."""
        return self._transport.request("GET", "/v1/doctor", messages.Examination).findings

    def interrupts(self, device: str, since: int) -> bytes:
        """The interrupts of a device that are recorded, from a number on: a line of JSON, and the records behind it."""
        query = urlencode({"device": device, "since": since})
        return self._transport.ask("GET", f"/v1/interrupts?{query}")

    def idle_stays(self) -> messages.Stays:
        """How long the CPUs have stayed in their idle states, counted for as long as somebody asks."""
        return self._transport.request("GET", "/v1/idle", messages.Stays)

    def acquire(self, holder: str, ttl_s: float) -> str:
        """A lease: the right to write, until it is released or `ttl_s` pass without a renewal.

        Raises:
            ConflictError: somebody else holds it.
        """
        asked = {"holder": holder, "ttl_s": ttl_s}
        return self._transport.request("POST", "/v1/lease", messages.Lease, asked).lease

    def renew(self, lease: str, *, timeout_s: float, ttl_s: float | None = None) -> None:
        """Another `ttl_s` for a lease; it ends meanwhile, so this waits no longer than `timeout_s` for an answer.

        Args:
            lease: The lease.
            timeout_s: How long an answer may take, in s.
            ttl_s: How long the lease lasts from now on without a renewal, in s; None for as long as before.

        Raises:
            ConflictError: it has ended.
        """
        asked = {"lease": lease} | ({} if ttl_s is None else {"ttl_s": ttl_s})
        self._transport.request("POST", "/v1/lease/renew", messages.Done, asked, timeout_s=timeout_s)

    def apply(self, setting: Setting, *, lease: str) -> messages.Applied:
        """Writes a setting, all of it or nothing, and reads back what is in effect."""
        return self._apply({"lease": lease, "setting": dict(setting), "dry_run": False})

    def preview(self, setting: Setting) -> messages.Applied:
        """What `apply` would change. Writes nothing and needs no lease."""
        return self._apply({"setting": dict(setting), "dry_run": True})

    def hold(
        self, setting: Setting, *, fall_back: Setting, conditions: messages.Conditions, lease: str
    ) -> messages.Applied:
        """Writes a setting and holds it under conditions that the agent checks itself, without us.

        When one of them breaks, the fall-back is in effect within a second, and the lease goes on. Both are whole: what
        is held and not named has the machine's own value. Another hold, or `apply`, takes its place.
        """
        asked = {"setting": dict(setting), "fall_back": dict(fall_back), "conditions": msgspec.to_builtins(conditions)}
        return self._transport.request("POST", "/v1/hold", messages.Applied, {"lease": lease, **asked})

    def holding(self) -> messages.HoldInForce | None:
        """What is held under conditions, and how it fell back if it did."""
        return self._transport.request("GET", "/v1/hold", messages.Holding).hold

    def push(self, latency: Latency) -> None:
        """Says what clients see. Where that breaks the hold's condition, the fall-back is then in effect."""
        asked = {"vantage": str(latency.vantage), **latency.quantities}
        self._transport.request("PUT", "/v1/latency", messages.Done, asked)

    def release(self, lease: str, *, keep: bool) -> messages.Released:
        """Ends a lease; the originals are back unless `keep`."""
        asked = {"lease": lease, "keep": keep}
        return self._transport.request("POST", "/v1/release", messages.Released, asked)

    def restore(self) -> messages.Released:
        """Puts the originals back, whoever holds the lease."""
        return self._transport.request("POST", "/v1/restore", messages.Released, {})

    def store_calibration(self, device: str, points: Sequence[tuple[float, float]], *, holder: str) -> None:
        """Remembers what a NIC makes of requested delays, as pairs (requested, effective) in us. Takes a lease for it.

        Raises:
            ConflictError: somebody else holds the lease.
        """
        rows = [{"requested_us": requested, "effective_us": effective} for requested, effective in points]
        lease = self.acquire(holder, _STORE_TTL_S)
        try:
            body = {"lease": lease, "device": device, "points": rows}
            self._transport.request("PUT", "/v1/calibration", messages.Done, body)
        finally:
            self.release(lease, keep=False)

    def calibrated(self) -> frozenset[str]:
        """The NICs whose effective delays are known by a stored calibration."""
        answer = self._transport.request("GET", "/v1/calibration", messages.Calibrations)
        return frozenset(calibration.device for calibration in answer.calibrations)

    def _apply(self, body: Mapping[str, object]) -> messages.Applied:
        return self._transport.request("POST", "/v1/apply", messages.Applied, body)
