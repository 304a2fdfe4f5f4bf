"""How a service stands at the moment, for an operator."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from bayop.control.ledger import LedgerWindow, Phase
from bayop.daemon.file import ServiceFile
from bayop.daemon.savings.account import Saved
from bayop.space import Setting, plain_setting
from bayop.units import round_significant

Doing = Literal["beginning", "paused", "trouble", Phase]
"""The phase of the controller; or `beginning` (the machine is reached and measured), `paused`, or `trouble` (waits to
begin anew)."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What an operator is told.

    Attributes:
        file: What is to be done.
        doing: What it is about.
        setting: What is in effect; None for the default, or where nobody knows (`restored`).
        last: The last window since the machine was reached.
        budget_left: The share of the error budget that is left (0-1); None where there is none.
        quiet_until_s: When the quiet hours of now end, in s since 1970; None outside of such.
        waits_for: The service of its group that is searched first; None where it waits for none.
        paused_by: `operator`, `stop file`, both or none.
        restored: Whether the machine is known to have its own settings.
        trouble: Why the machine had to be let go of last, as long as it was not reached since.
        saved: What was saved in the last days; None where no setting was held in them.
    """

    file: ServiceFile
    doing: Doing
    setting: Setting | None
    last: LedgerWindow | None
    budget_left: float | None
    quiet_until_s: float | None
    waits_for: str | None
    paused_by: tuple[str, ...]
    restored: bool
    trouble: str | None
    saved: Saved | None

    def event(self) -> dict[str, object]:
        """As the event `service`."""
        file, last = self.file, self.last
        latency_us = None if last is None else last.latency_us
        until_s = self.quiet_until_s
        return {
            "event": "service",
            "service": file.name,
            "mode": file.mode,
            "doing": self.doing,
            "setting": plain_setting(self.setting),
            "slo": str(file.slo),
            "qps": round_significant(None if last is None else last.qps),
            "power_w": round_significant(None if last is None else last.power_w),
            "latency_us": round_significant(latency_us),
            "current": last is None or last.setting == self.setting,
            "margin": round_significant(None if latency_us is None else 1 - latency_us / file.slo.limit_us),
            "budget_left": round_significant(self.budget_left),
            "quiet_until": None if until_s is None else datetime.fromtimestamp(until_s, UTC).isoformat(),
            "waits_for": self.waits_for,
            "paused_by": list(self.paused_by),
            "restored": self.restored,
            "trouble": self.trouble,
            "saved": None if self.saved is None else self.saved.event(),
        }
