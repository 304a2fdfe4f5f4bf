from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from bayop.latency.gathering import Gathering


class Slow:
    """Squares numbers, the first time only when it may go on."""

    def __init__(self) -> None:
        self.began, self.may_go_on = threading.Event(), threading.Event()
        self.calls: list[list[int]] = []

    def __call__(self, numbers: Sequence[int], _limit_s: float) -> list[int]:
        self.calls.append(list(numbers))
        if len(self.calls) == 1:
            self.began.set()
            assert self.may_go_on.wait(60.0)
        if 13 in numbers:
            raise ValueError("thirteen")
        return [number**2 for number in numbers]


def test_a_thread_alone_asks_at_once() -> None:
    slow = Slow()
    slow.may_go_on.set()
    gathering = Gathering[int, int](slow, most=8)
    assert gathering.answers([2, 3], limit_s=1.0) == [4, 9]
    assert gathering.answers([4], limit_s=1.0) == [16]
    assert slow.calls == [[2, 3], [4]]


class Asked(list[int]):
    """Numbers that say when they have been handed in."""

    def __init__(self, *numbers: int) -> None:
        super().__init__(numbers)
        self.handed_in = threading.Event()

    def __iter__(self) -> Iterator[int]:
        self.handed_in.set()
        return super().__iter__()


def answered(slow: Slow, *groups: list[int], most: int = 100) -> list[Sequence[int] | Exception]:
    """What each of several threads is answered that ask while the call of another one, for [1], is under way."""
    gathering = Gathering[int, int](slow, most=most)

    def ask(numbers: Sequence[int]) -> Sequence[int] | Exception:
        try:
            return gathering.answers(numbers, limit_s=60.0)
        except ValueError as error:
            return error

    with ThreadPoolExecutor(len(groups) + 1) as pool:
        first = pool.submit(ask, [1])
        assert slow.began.wait(60.0)
        others = []
        for group in groups:
            asked = Asked(*group)
            others.append(pool.submit(ask, asked))
            assert asked.handed_in.wait(60.0)
        slow.may_go_on.set()
        assert first.result() == [1]
        return [other.result() for other in others]


def test_what_is_asked_meanwhile_is_one_call_and_each_thread_has_its_own_answers() -> None:
    slow = Slow()
    assert answered(slow, [2], [3, 4], [5]) == [[4], [9, 16], [25]]
    assert slow.calls == [[1], [2, 3, 4, 5]]


def test_a_call_that_is_full_is_followed_by_another() -> None:
    slow = Slow()
    assert answered(slow, [2, 3], [4, 5], [6, 7], most=3) == [[4, 9], [16, 25], [36, 49]]
    assert sorted(slow.calls) == [[1], [2, 3, 4, 5], [6, 7]]


def test_what_a_call_raises_is_everybodys_who_asked() -> None:
    slow = Slow()
    errors = answered(slow, [2], [13])
    assert all(isinstance(error, ValueError) for error in errors)


def test_a_turn_that_does_not_come_is_not_waited_for() -> None:
    slow = Slow()
    gathering = Gathering[int, int](slow, most=9)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(gathering.answers, [1], limit_s=60.0)
        assert slow.began.wait(60.0)
        with pytest.raises(TimeoutError, match=r"timed out after 0\.01 s"):
            gathering.answers([2], limit_s=0.01)
        slow.may_go_on.set()
        assert first.result() == [1]
    # Nobody waits for the two any more; asking it is no harm.
    assert gathering.answers([3], limit_s=60.0) == [9]
