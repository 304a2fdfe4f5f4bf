"""Why a search ended, in words."""

from __future__ import annotations

from typing import get_args

from bayop.optimize.base import StopReason
from bayop.report.ended import ENDED_BECAUSE
from bayop.search import Halt


def test_every_end_has_words() -> None:
    assert set(ENDED_BECAUSE) == {*get_args(StopReason), "budget", "interrupted", *get_args(Halt)}
