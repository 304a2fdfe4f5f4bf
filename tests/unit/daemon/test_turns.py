from __future__ import annotations

from bayop.daemon.turns import Turns


def test_so_many_search_at_a_time_and_the_next_when_one_has_ended() -> None:
    turns = Turns(2)
    assert turns.take("a")
    assert turns.take("b")
    assert turns.take("a"), "it has its turn"
    assert not turns.take("c")
    turns.end("c")
    assert not turns.take("c")
    turns.end("a")
    assert turns.take("c")
    assert not turns.take("a")
