from __future__ import annotations

import time

import pytest

from bayop.deadline import within


def test_what_ends_in_time_returns_or_raises_as_itself() -> None:
    assert within(5.0, lambda: 7) == 7
    with pytest.raises(KeyError, match="x"):
        within(5.0, lambda: dict[str, int]()["x"])


def test_what_does_not_is_left_behind() -> None:
    started = time.monotonic()
    with pytest.raises(TimeoutError, match=r"timed out after 0\.1 s"):
        within(0.1, lambda: time.sleep(2.0))
    assert time.monotonic() - started < 1.0
