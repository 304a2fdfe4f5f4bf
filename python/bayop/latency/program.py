"""Runs somebody's program for one window and reads what it prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bayop.errors import InputError
from bayop.program import run_within


def run_program(
    words: Sequence[str],
    *,
    environment: Mapping[str, str],
    duration_s: float,
    grace_s: float,
    sleep: Callable[[float], None],
    place: str,
    on_print: Callable[[str], None] = lambda _: None,
) -> str:
    """What the program prints, by the time it has ended; no process of its outlives its window.

    Args:
        words: The program and its arguments.
        environment: Variables in addition to ours.
        duration_s: The window that it measures.
        grace_s: How much longer than the window it may take.
        sleep: How to wait; when it raises, the program is ended.
        place: What errors call the program.
        on_print: Given all that was printed so far, while the program runs and prints.

    Raises:
        InputError: it can't be run, takes too long or fails.
    """
    late = InputError(
        wrong=f"the command was still running {grace_s:g} s after its window of {duration_s:g} s",
        place=place,
        hint="BAYOP_WINDOW_S says how long to measure",
    )
    return run_within(
        duration_s + grace_s,
        words,
        environment=environment,
        sleep=sleep,
        late=late,
        place=place,
        on_print=on_print,
    )
