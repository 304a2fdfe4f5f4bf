"""One shape for everything that can go wrong: the rule, the offending value, where it came from, what to do.

Every error that BayOp raises on purpose is a `BayopError`. The command line prints it in two lines and exits with
its `exit_code`; nobody ever sees a traceback for bad input.
"""

from __future__ import annotations

from typing import ClassVar


class BayopError(Exception):
    """A rule that does not hold.

    Args:
        rule: What must hold, as one sentence without a full stop ("an SLO names a quantile and a limit with a unit").
        value: The offending value as the user would recognise it; omitted when there is none.
        place: Where the value came from: a flag, a file with line and column, a knob id.
        hint: What to do about it.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, rule: str, *, value: object = None, place: str | None = None, hint: str | None = None) -> None:
        self.rule = rule
        self.value = value
        self.place = place
        self.hint = hint
        super().__init__(self.message)

    @property
    def message(self) -> str:
        """The error on one line: place, rule, value."""
        prefix = f"{self.place}: " if self.place else ""
        suffix = f", but got {self.value!r}" if self.value is not None else ""
        return f"{prefix}{self.rule}{suffix}"

    def at(self, place: str) -> BayopError:
        """The same error with a place, for callers that know where the value came from; a known place is kept."""
        return type(self)(self.rule, value=self.value, place=self.place or place, hint=self.hint)


class InputError(BayopError):
    """Bad usage or input of any kind: exit code 2."""

    exit_code = 2


class DriftError(BayopError):
    """What is applied is not what was asked: exit code 3."""

    exit_code = 3


class UnsupportedError(BayopError):
    """This machine or installation can't do it: exit code 4."""

    exit_code = 4
