"""A modelled server that can be asked about any load and setting, many at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bayop.measurement import Measurement
from bayop.space import Setting
from bayop.target.base import Tunable


@dataclass(frozen=True, slots=True)
class Question:
    """What a window would show.

    Attributes:
        qps: Offered load, in requests/s.
        setting: What is in effect; None for the default.
        seed: Seed of the window's randomness.
    """

    qps: float
    setting: Setting | None
    seed: int


class Oracle(Tunable, Protocol):
    """Answers questions. Stateless, so that several days can be played on it at once; every knob has `auto`."""

    def answer(self, questions: Sequence[Question], *, requests: int, threads: int) -> list[Measurement]:
        """One window of about `requests` requests for each question, in order."""
        ...
