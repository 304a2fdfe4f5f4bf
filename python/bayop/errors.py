"""One shape for everything that can go wrong: what is wrong, the rule, where it came from, what to do.

Every error that BayOp raises on purpose is a `BayopError`. The command line prints it in two lines, or under `--json`
as an object, and exits with its `exit_code`; nobody ever sees a traceback for bad input.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

if TYPE_CHECKING:
    from bayop import _core


_PARTS: Final = ("rule", "wrong", "value", "place", "hint")


class Parameter(str):
    """A place that is a parameter's name, for which the command line says its flag; a file may be called the same."""

    __slots__ = ()


class BayopError(Exception):
    """Something that can't be done.

    Args:
        rule: What must hold, as one sentence with "must" and without a full stop ("a limit must be positive"); None
            where `wrong` alone says it.
        wrong: What happened ("cannot read nope.csv: no such file"); None where that is just a value that can't be used.
        value: The offending value as the user would recognise it; None when there is none.
        place: Where it came from, as people call it: a file with line and column, or a knob id.
        hint: What to do about it.
        parameter: The place where that is a parameter: its name, for which the command line says its flag.

    Example:
        >>> from bayop import BayopError, Slo
        >>> try:
        ...     Slo.parse("p99<500")
        ... except BayopError as error:
        ...     print(error)
        ...     print(error.hint)
        cannot use 'p99<500': the limit of an SLO must be a time with its unit
        write a quantile, '<' and a limit with its unit: p99<500us, p90<0.5ms, p99.9<2ms
    """

    exit_code: ClassVar[int] = 1
    kind: ClassVar[str] = "failed"

    def __init__(
        self,
        rule: str | None = None,
        *,
        wrong: str | None = None,
        value: object = None,
        place: str | None = None,
        hint: str | None = None,
        parameter: str | None = None,
    ) -> None:
        self.rule = rule
        self.wrong = wrong
        self.value = value
        self.place = place if parameter is None else Parameter(parameter)
        self.hint = hint
        super().__init__(self.message)

    @property
    def message(self) -> str:
        """The error on one line: what is wrong, the rule, and the place, unless what is wrong names it."""
        parts = [self.wrong or ("" if self.value is None else f"cannot use {self.value!r}"), self.rule or ""]
        text = ("; " if self.wrong else ": ").join(part for part in parts if part)
        names_place = (
            self.wrong and self.place and re.search(rf"(?<![\w-]){re.escape(self.place)}(?![\w-])", self.wrong)
        )
        return f"{text} ({self.place})" if self.place and not names_place else text

    @classmethod
    def of(cls, error: BayopError | _core.Error) -> Self:
        """Another error, of the compiled core or of another class, as one of this class."""
        return cls(error.rule, wrong=error.wrong, value=error.value, place=error.place, hint=error.hint)

    def at(self, place: str) -> Self:
        """The same error with a place, for callers that know where the value came from; a known place is kept."""
        return self.but(place=self.place or place)

    def but(self, **parts: Any) -> Self:  # noqa: ANN401 -- the arguments of the constructor
        """The same error with other parts."""
        own = {name: getattr(self, name) for name in _PARTS}
        return type(self)(**(own | parts))

    @property
    def parts(self) -> dict[str, str | None]:
        """What another process needs to raise it again."""
        own = {name: getattr(self, name) for name in _PARTS}
        return {"kind": self.kind} | {name: None if part is None else str(part) for name, part in own.items()}

    @staticmethod
    def of_parts(parts: Mapping[str, Any], classes: Iterable[type[BayopError]]) -> BayopError:
        """The error whose parts another process has told; `classes` are what it may be, one of a kind."""
        kinds = {of.kind: of for of in classes}
        return kinds.get(parts["kind"], BayopError)(**{name: parts[name] for name in _PARTS})

    def to_json(self) -> dict[str, object]:
        """The error as the event that programs get; docs/reference/events.md."""
        value = None if self.value is None else str(self.value)
        more = {"rule": self.rule, "value": value, "place": self.place, "hint": self.hint}
        return {"event": "error", "kind": self.kind, "message": self.message, **more, "exit_code": self.exit_code}


class InputError(BayopError):
    """Bad usage or input of any kind: exit code 2."""

    exit_code = 2
    kind = "input"


class DriftError(BayopError):
    """What is applied is not what was asked: exit code 3."""

    exit_code = 3
    kind = "drift"


class UnsupportedError(BayopError):
    """This machine or installation can't do it: exit code 4."""

    exit_code = 4
    kind = "unsupported"


def as_ours(error: Exception) -> BayopError:
    """Any error as a `BayopError`, for those whom one service's or one request's trouble must not end."""
    return error if isinstance(error, BayopError) else BayopError(wrong=f"{type(error).__name__}: {reason(error)}")


def printable(text: str) -> str:
    """What somebody else says, on one line and without what a terminal would obey."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def guess(name: str, names: Iterable[str], *, prefix: str = "", cutoff: float = 0.6) -> str | None:
    """What a mistyped name may stand for, as a hint ("did you mean tune?"); None where nothing known is like it.

    Args:
        name: What was typed.
        names: What could have been.
        prefix: What stands before a known name where people type it.
        cutoff: How alike they must be, from 0 to 1.
    """
    from difflib import get_close_matches

    # Who mistypes a name does not double it; of what is only a part of what was typed, another is meant.
    likely = [known for known in names if 2 * len(known) > len(name)]
    close = get_close_matches(name, likely, n=1, cutoff=cutoff)
    return f"did you mean {prefix}{close[0]}?" if close else None


def no_service(name: str, names: Iterable[str], *, place: str | None = None) -> InputError:
    """That `bayop run` looks after none of this name, with those that it does."""
    known = sorted(names)
    hint = guess(name, known) or (f"one of {', '.join(known)}" if known else None)
    return InputError(wrong=f"there is no service {name!r}", value=name, place=place, hint=hint)


def no_knob(knob_id: str, known: Iterable[str], *, place: str | None = None) -> InputError:
    """That there is no knob of this name, with the one among those that are known that may be meant."""
    hint = guess(knob_id, known) or "bayop knobs lists all"
    return InputError(wrong=f"there is no knob {knob_id!r}", value=knob_id, place=place, hint=hint)


def unreadable(path: Path | str, error: Exception, *, place: str | None = None) -> InputError:
    """The error for a file that can't be read."""
    return InputError(wrong=f"cannot read {path}: {reason(error)}", place=place or str(path))


def unwritable(path: Path | str, error: Exception, *, place: str | None = None) -> InputError:
    """The error for a file or folder that can't be written."""
    return InputError(wrong=f"cannot write {path}: {reason(error)}", place=place or str(path))


def reason(error: Exception) -> str:
    """Why a file can't be used, in a few words ("no such file")."""
    if isinstance(error, UnicodeError):
        return "it is not text in UTF-8"
    # TLS, and what looks names up, have numbers of their own.
    if isinstance(error, OSError) and error.errno and type(error).__module__ == "builtins":
        words = "no such file" if error.errno == errno.ENOENT else os.strerror(error.errno)
    else:
        said = getattr(error, "strerror", None) or str(error)
        words = said.partition("\n")[0] or type(error).__name__
    # A name such as JSON stays as it is.
    return words if words[1:2].strip() and not words[1].islower() else words[:1].lower() + words[1:]
