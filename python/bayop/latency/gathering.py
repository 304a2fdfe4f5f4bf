"""Questions that many threads ask at nearly the same time, asked together, as databases commit in groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import Generic, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")


class Gathering(Generic[Q, A]):
    """Answers questions by one call at a time; what is asked while one is under way is the next one. Safe for threads.

    Nobody waits for others to come: a thread that is alone asks at once.

    Args:
        ask: Answers so many questions, in their order, within so many seconds.
        most: With so many questions a call takes no more.
    """

    def __init__(self, ask: Callable[[Sequence[Q], float], Sequence[A]], *, most: int) -> None:
        self._ask, self._most = ask, most
        self._turn = Lock()
        self._mutex = Lock()
        self._next = _Call[Q, A]()

    def answers(self, questions: Sequence[Q], *, limit_s: float) -> Sequence[A]:
        """The answers, in the order of the questions; whatever the call raised that had them.

        Raises:
            TimeoutError: the calls before took all of `limit_s`.
        """
        ends = monotonic() + limit_s
        with self._mutex:
            if len(self._next.questions) >= self._most:
                self._next = _Call()
            call, first = self._next, len(self._next.questions)
            call.questions.extend(questions)
        if not self._turn.acquire(timeout=limit_s):
            raise TimeoutError(f"timed out after {limit_s:.2g} s")
        try:
            if not call.is_over:
                self._have(call, ends - monotonic())
        finally:
            self._turn.release()
        if call.error is not None:
            raise call.error
        return call.answers[first : first + len(questions)]

    def _have(self, call: _Call[Q, A], limit_s: float) -> None:
        with self._mutex:
            if call is self._next:
                self._next = _Call()
        try:
            call.answers = self._ask(call.questions, limit_s)
        except Exception as error:
            call.error = error
        call.is_over = True


@dataclass(slots=True)
class _Call(Generic[Q, A]):
    questions: list[Q] = field(default_factory=list)
    answers: Sequence[A] = ()
    error: Exception | None = None
    is_over: bool = False
