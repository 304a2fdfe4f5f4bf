"""Why a service may try nothing for now: quiet hours, or an error budget that is spent."""

from __future__ import annotations

from datetime import UTC, datetime

from bayop.daemon.file import ServiceFile
from bayop.daemon.report import Reporter
from bayop.search import Halt
from bayop.state.store import Store


class Halts:
    """Looks at the file's quiet hours, and at the windows that the state has, of before a restart too.

    Args:
        file: What is to be done.
        store: What the service's windows have shown.
        reporter: Who is told when it changes.
    """

    def __init__(self, file: ServiceFile, store: Store, reporter: Reporter) -> None:
        self._file, self._store, self._reporter = file, store, reporter
        self._last: Halt | None = None

    def at(self, now_s: float) -> Halt | None:
        """Why nothing may be tried at a time; None where it may."""
        if self._file.quiet.until_s(now_s) is not None:
            return "quiet"
        return "overspent" if self.budget_left(now_s) == 0.0 else None

    def heed(self, now_s: float) -> Halt | None:
        """The same, said to who is told when it has changed."""
        halt = self.at(now_s)
        if halt != self._last:
            self._last = halt
            if halt is None:
                self._reporter.say("unhalted", "may search again", service=self._file.name)
            else:
                self._reporter.say("halted", self.why(halt, now_s), service=self._file.name, why=halt)
        return halt

    def why(self, halt: Halt, now_s: float) -> str:
        """A halt, for people."""
        if halt == "quiet":
            until = datetime.fromtimestamp(self._file.quiet.until_s(now_s) or now_s, UTC)
            return f"quiet hours until {until:%Y-%m-%d %H:%M}Z: nothing is tried"
        return "the error budget is spent: nothing is tried before the period has rolled on"

    def budget_left(self, now_s: float) -> float | None:
        """The share of the error budget that is left; None where there is none."""
        budget = self._file.budget
        if budget is None:
            return None
        return budget.left(self._store.spending(self._file.name, now_s - budget.period_s, now_s))
