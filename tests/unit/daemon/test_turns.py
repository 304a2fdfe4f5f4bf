from __future__ import annotations

from bayop.daemon.turns import Turn, Turns


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def known(turns: Turns, service: str, group: str | None = None) -> Turn:
    """Of a service whose machine was reached, and had its own settings."""
    turn = turns.of(service, group=group, lease_s=10.0)
    turn.clear()
    return turn


def may(turn: Turn) -> bool:
    return turn.take(is_asked=False)


def test_so_many_search_at_a_time_and_the_next_when_one_has_ended() -> None:
    turns = Turns(2)
    a, b, c = (known(turns, name) for name in "abc")
    assert may(a)
    assert may(b)
    assert may(a), "it has its turn"
    assert not may(c)
    c.end()
    assert not may(c)
    a.end()
    assert may(c)
    assert not may(a)
    assert a.waits_for is None, "for no service by its name"
    assert a.take(is_asked=True), "an operator does not wait"


def test_of_a_group_one_searches_at_a_time_and_others_do_not_wait_for_it() -> None:
    turns = Turns()
    a, b = known(turns, "a", "cache"), known(turns, "b", "cache")
    c, d = known(turns, "c", "web"), known(turns, "d")
    assert [may(each) for each in (a, b, c, d, a)] == [True, False, True, True, True]
    assert (b.waits_for, b.other, a.other, c.other) == ("a", "a", None, None)
    assert not b.take(is_asked=True), "nor does it begin when an operator asks"
    b.clear()
    assert (b.waits_for, b.other) == (None, "a"), "does not want to any more"
    a.end()
    a.clear()
    assert may(b)
    assert b.waits_for is None
    assert not may(a)


def test_what_was_tried_last_is_waited_for_until_it_is_known_to_be_gone_or_the_lease_has_ended() -> None:
    clock = Clock()
    turns = Turns(1, clock=clock)
    a, b, other = known(turns, "a", "cache"), known(turns, "b", "cache"), known(turns, "other")
    assert may(a)
    a.end()
    clock.now_s = 9.0
    assert (may(b), b.waits_for) == (False, "a")
    assert may(other), "no trial is in its way"
    other.end()
    a.end()
    clock.now_s = 10.0
    assert (may(b), b.waits_for) == (True, None)
    b.end()
    b.clear()
    assert may(a)


def test_an_earlier_process_may_have_left_a_trial() -> None:
    clock = Clock()
    turns = Turns(clock=clock)
    turns.of("a", group="cache", lease_s=10.0)
    b = known(turns, "b", "cache")
    assert (may(b), b.waits_for) == (False, "a")
    clock.now_s = 10.0
    assert may(b)


def test_one_that_begins_anew_in_another_group_takes_no_turn_of_its_old_one_along() -> None:
    turns = Turns()
    old, b, c = known(turns, "a", "cache"), known(turns, "b", "cache"), known(turns, "c", "web")
    assert may(old)
    new = known(turns, "a", "web")
    assert may(c)
    assert (may(new), new.waits_for) == (False, "c")
    assert not may(b), "the old one has not let go yet"
    old.clear()
    assert may(b)
    old.end()
    assert not may(old)
