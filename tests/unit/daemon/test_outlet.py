from __future__ import annotations

import threading

from bayop.daemon.outlet import MOST, Outlet


def test_words_go_out_in_their_order() -> None:
    said: list[int] = []
    with Outlet(said.append) as outlet:
        for number in range(1000):
            outlet.put(number)
    assert said == list(range(1000))


def test_a_reader_that_is_gone_does_not_end_it() -> None:
    said: list[str] = []

    def write(word: str) -> None:
        if word == "lost":
            raise BrokenPipeError
        said.append(word)

    with Outlet(write) as outlet:
        for word in ("one", "lost", "two"):
            outlet.put(word)
    assert said == ["one", "two"]


def test_nobody_waits_for_a_reader_that_does_not_read() -> None:
    reads = threading.Event()
    said: list[int] = []

    def write(number: int) -> None:
        reads.wait()
        said.append(number)

    with Outlet(write) as outlet:
        for number in range(2 * MOST):
            outlet.put(number)
        reads.set()
    assert MOST <= len(said) <= MOST + 1
