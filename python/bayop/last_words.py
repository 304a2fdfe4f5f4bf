"""What a program that has failed says of it on stderr; it may be one of ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

_ERROR: Final = "error: "
_HINT: Final = "hint: "


@dataclass(frozen=True, slots=True)
class LastWords:
    """What it said.

    Attributes:
        error: What was wrong, where it says so as our programs do; None elsewhere.
        hint: What to do, likewise.
        line: The last line, whoever wrote it; None where it said nothing.
    """

    error: str | None
    hint: str | None
    line: str | None

    @property
    def wrong(self) -> str | None:
        """What was wrong, as well as it can be told; None where it said nothing."""
        return self.error or self.line

    @classmethod
    def of(cls, stderr: str) -> Self:
        """From all that it wrote there."""
        lines = [line.strip() for line in stderr.splitlines() if line.strip()]
        *_, line = [None, *lines]
        begins = next((i for i in reversed(range(len(lines))) if lines[i].startswith(_ERROR)), None)
        if begins is None:
            return cls(None, None, line)
        hint = next((line for line in lines[begins + 1 :] if line.startswith(_HINT)), None)
        return cls(lines[begins].removeprefix(_ERROR), hint and hint.removeprefix(_HINT), line)
