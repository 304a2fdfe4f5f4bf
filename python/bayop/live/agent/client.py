"""The agent's verbs as methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

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
    def at(cls, address: str, credentials: Credentials | None = None) -> AgentClient:
        """The agent at an address as people write it. Connects to nothing yet.

        Raises:
            InputError: the address can't be read, or its credentials are missing or unusable.
        """
        return cls(Transport(parse_address(address), credentials))

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

    def acquire(self, holder: str, ttl_s: float) -> str:
        """A lease: the right to write, until it is released or `ttl_s` pass without a renewal.

        Raises:
            ConflictError: somebody else holds it.
        """
        asked = {"holder": holder, "ttl_s": ttl_s}
        return self._transport.request("POST", "/v1/lease", messages.Lease, asked).lease

    def renew(self, lease: str, *, timeout_s: float) -> None:
        """Another `ttl_s` for a lease; it ends meanwhile, so this waits no longer than `timeout_s` for an answer.

        Raises:
            ConflictError: it has ended.
        """
        self._transport.request("POST", "/v1/lease/renew", messages.Done, {"lease": lease}, timeout_s=timeout_s)

    def apply(self, setting: Setting, *, lease: str) -> messages.Applied:
        """Writes a setting, all of it or nothing, and reads back what is in effect."""
        return self._apply({"lease": lease, "setting": dict(setting), "dry_run": False})

    def preview(self, setting: Setting) -> messages.Applied:
        """What `apply` would change. Writes nothing and needs no lease."""
        return self._apply({"setting": dict(setting), "dry_run": True})

    def release(self, lease: str, *, keep: bool) -> messages.Restored:
        """Ends a lease; the originals are back unless `keep`."""
        asked = {"lease": lease, "keep": keep}
        return self._transport.request("POST", "/v1/release", messages.Restored, asked)

    def restore(self) -> messages.Restored:
        """Puts the originals back, whoever holds the lease."""
        return self._transport.request("POST", "/v1/restore", messages.Restored, {})

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
