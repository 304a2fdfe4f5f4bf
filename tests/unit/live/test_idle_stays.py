from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from bayop.errors import DriftError
from bayop.idle.counter import Window
from bayop.live.agent import messages
from bayop.live.agent.address import UnixAddress
from bayop.live.agent.client import AgentClient
from bayop.live.agent.transport import Transport
from bayop.live.idle_stays import counted_by

STATES = (("POLL", 0, 0), ("C1", 2, 2))
BOUNDS_US = (0.0, 1.0, 2.0)


class Answers(AgentClient):
    """An agent that answers one thing after another."""

    def __init__(self, *answers: messages.Stays) -> None:
        super().__init__(Transport(UnixAddress("/nobody")))
        self._answers: Iterator[messages.Stays] = iter(answers)
        self.slept_s = 0.0

    def idle_stays(self) -> messages.Stays:
        return next(self._answers)

    def sleep(self, duration_s: float) -> None:
        self.slept_s += duration_s

    def windows(self, count: int) -> Sequence[Window]:
        counted = counted_by(self, window_s=0.5, sleep=self.sleep)
        assert (counted.states, counted.bounds_us) == (STATES, BOUNDS_US)
        return [next(counted.windows) for _ in range(count)]


def stays(
    duration_s: float,
    *rows: tuple[int, int, int, int],
    began_s: float = 7.0,
    states: tuple[tuple[str, int, int], ...] = STATES,
) -> messages.Stays:
    return messages.Stays(states, BOUNDS_US, began_s, duration_s, rows)


def test_a_window_has_what_came_in_it() -> None:
    agent = Answers(
        stays(10.0, (0, 1, 2, 9), (1, 0, 0, 4)),
        stays(10.5, (0, 1, 2, 12), (1, 0, 0, 4), (1, 0, 1, 2)),
        stays(11.25, (0, 1, 2, 12), (1, 0, 0, 4), (1, 0, 1, 2)),
    )
    assert agent.windows(2) == [Window(0.5, {0: {(1, 2): 3}, 1: {(0, 1): 2}}), Window(0.75, {})]
    assert agent.slept_s == 1.0


def test_of_a_counting_that_began_anew_all_counts() -> None:
    agent = Answers(stays(10.0, (0, 1, 2, 9)), stays(0.25, (0, 1, 2, 12), began_s=17.5))
    assert agent.windows(1) == [Window(0.25, {0: {(1, 2): 12}})]


def test_another_machine_is_no_window() -> None:
    with pytest.raises(DriftError, match="other idle states"):
        Answers(stays(10.0), stays(0.25, states=(("POLL", 0, 0), ("C2", 2, 2)))).windows(1)


@pytest.mark.parametrize("row", [(0, 2, 0, 1), (0, 0, 3, 1)])
def test_what_counts_nothing_that_there_is_is_refused(row: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="of a state and a bin"):
        stays(1.0, row)
