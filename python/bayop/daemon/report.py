"""What a daemon says: a line for people and an event for programs of everything that happens; remembered, too."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

from bayop.control.ledger import LedgerWindow, Search
from bayop.errors import BayopError, DriftError
from bayop.live.agent.transport import UnreachableError
from bayop.slo import Slo
from bayop.space import format_setting, plain_setting
from bayop.state.store import StateError, Store
from bayop.units import round_significant

Cause = Literal["agent", "drift", "other"]
"""Why a machine had to be let go of: its agent does not answer, it is not as it was left, or something else."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line for people.

    Attributes:
        text: What it says.
        event: What it tells of; empty for what is no event.
    """

    text: str
    event: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reporter:
    """Says and remembers. Safe to use from several threads.

    Attributes:
        store: Where it is remembered.
        clock: Seconds since 1970 (UTC).
        line: Says a line to people.
        event: Says an event to programs.
    """

    store: Store
    clock: Callable[[], float]
    line: Callable[[Line], None]
    event: Callable[[Mapping[str, object]], None]
    _mutex: threading.Lock = field(default_factory=threading.Lock, init=False)

    def heard_by(self, listener: Callable[[Mapping[str, object]], None]) -> Reporter:
        """The same, whose events somebody else hears, too; who listens must be quick."""

        def both(event: Mapping[str, object]) -> None:
            listener(event)
            self.event(event)

        return replace(self, event=both)

    def say(self, name: str, line: str, *, service: str | None = None, **fields: object) -> None:
        """That something has happened."""
        now_s = self.clock()
        with suppress(StateError):  # whoever can't write a window says so
            self.store.add_event(now_s, service, name, fields)
        self._say(name, now_s, line, service, fields)

    def decision(self, name: str, line: str, *, service: str, **fields: object) -> None:
        """As `say`, of what has to be remembered.

        Raises:
            StateError: it can't be; nothing was said.
        """
        now_s = self.clock()
        self.store.add_event(now_s, service, name, fields)
        self._say(name, now_s, line, service, fields)

    def trouble(self, service: str, error: BayopError, again_in_s: float) -> None:
        """That a service had to let go of its machine, and when it tries again."""
        hint = "" if error.hint is None else f" (hint: {error.hint})"
        line = f"{error.message}{hint}; again in {again_in_s:g} s"
        said = {"message": error.message, "hint": error.hint, "again_in_s": again_in_s}
        self.say("trouble", line, service=service, cause=_cause(error), **said)

    def window(self, service: str, slo: Slo, window: LedgerWindow) -> None:
        """What a window has shown; people hear of trials, and of windows that missed the SLO.

        Raises:
            StateError: it can't be remembered.
        """
        self.store.add_window(service, window)
        line = _of_window(window, slo) if window.phase == "trial" or not window.meets_slo else ""
        fields: dict[str, object] = {
            "phase": window.phase,
            "setting": plain_setting(window.setting),
            "duration_s": round_significant(window.duration_s),
            "qps": round_significant(window.qps),
            "power_w": round_significant(window.power_w),
            "latency_us": round_significant(window.latency_us),
            "meets_slo": window.meets_slo,
            "over_share": round_significant(window.over_share),
            "search": window.search,
            "cut_short": window.cut_short,
        }
        self._say("window", window.end_s, line, service, fields)

    def search(self, service: str, search: Search) -> None:
        """How a search has ended.

        Raises:
            StateError: it can't be remembered.
        """
        self.store.add_search(service, search)
        trials = f"{len(search.trials)} trial{'s' * (len(search.trials) != 1)}"
        result = "the default stays" if search.setting is None else f"found {format_setting(search.setting)}"
        fields: dict[str, object] = {
            "search": search.number,
            "reason": search.reason,
            "qps": round_significant(search.qps),
            "trials": len(search.trials),
            "stopped": search.stopped,
            "setting": plain_setting(search.setting),
        }
        line = f"search {search.number} ({search.reason}) ended after {trials}, {search.stopped}: {result}"
        self._say("search", search.end_s, line, service, fields)

    def _say(self, name: str, time_s: float, line: str, service: str | None, fields: Mapping[str, object]) -> None:
        whose: dict[str, Any] = {} if service is None else {"service": service}
        moment = datetime.fromtimestamp(time_s, UTC).isoformat(timespec="milliseconds")
        # Services are looked after also when nobody reads what is said of them.
        with self._mutex, suppress(BayopError, OSError):
            event = {"event": name, "time": moment, **whose, **fields}
            if line:
                self.line(Line(line if service is None else f"{service}: {line}", event))
            self.event(event)


def _of_window(window: LedgerWindow, slo: Slo) -> str:
    setting = "the default" if window.setting is None else format_setting(window.setting)
    name = window.phase if window.search is None else f"{window.phase} of search {window.search}"
    if window.cut_short is not None:
        return f"{name}: {setting}: cut short, {window.cut_short}"
    seen = [] if window.power_w is None else [f"{window.power_w:.1f} W"]
    if window.latency_us is not None:
        over = "" if window.meets_slo else f", which misses {slo}"
        seen.append(f"{slo.quantity.removesuffix('_us')} {window.latency_us:.0f} us at {window.qps:.0f} qps{over}")
    return f"{name}: {setting}: {', '.join(seen)}"


def _cause(error: BayopError) -> Cause:
    if isinstance(error, UnreachableError):
        return "agent"
    return "drift" if isinstance(error, DriftError) else "other"
