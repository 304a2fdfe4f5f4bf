"""Standard output that may be full, closed, or read by somebody who leaves: an error like any other, or silence."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

from bayop.cli.terminal import exit_codes
from bayop.errors import BayopError, reason


class StdoutError(BayopError):
    """Standard output can't be written: exit code 1."""

    kind = "stdout"


class ReaderLeftError(StdoutError):
    """Whoever read our output (head, less) has gone; nobody is left to tell."""

    exit_code = exit_codes.READER_LEFT


class _Stdout:
    """Standard output whose failures are errors of ours.

    Args:
        stream: The stream; None when the process was started without one.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with self._own_errors():
            return self._open().write(text)

    def flush(self) -> None:
        with self._own_errors():
            if self._stream is not None:
                self._stream.flush()

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 -- whatever a stream has
        return getattr(self._open(), name)

    def _open(self) -> TextIO:
        if self._stream is None:
            raise StdoutError(wrong="cannot write to stdout: it is closed")
        return self._stream

    @contextmanager
    def _own_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._discard()
            if isinstance(error, BrokenPipeError):
                raise ReaderLeftError(wrong="nobody reads stdout any more") from error
            raise StdoutError(wrong=f"cannot write to stdout: {reason(error)}") from error

    def _discard(self) -> None:
        """Sends what is still in buffers nowhere, so that the end of the process does not try it again."""
        with suppress(OSError, ValueError, AttributeError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, cast("TextIO", self._stream).fileno())
            os.close(nowhere)


@contextmanager
def guard() -> Iterator[None]:
    """While it lasts, stdout raises `StdoutError` instead of errors of the system, and stderr is always there."""
    _occupy_standard_descriptors()
    stdout, stderr = sys.stdout, sys.stderr
    for stream in (stdout, stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that knows no Greek letters gets question marks
    sys.stdout = cast("TextIO", _Stdout(stdout))
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123 -- a device, no path of ours
        sys.stderr = stderr or nowhere
        try:
            yield
        finally:
            sys.stdout, sys.stderr = stdout, stderr


def _occupy_standard_descriptors() -> None:
    """Gives descriptors 0 to 2 to nobody where they are closed: else the next file would get one, and others' words."""
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= 2:
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)
