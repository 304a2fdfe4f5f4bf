"""Runs a recorder, such as `bayop-idle-record`: a program that prints what a kernel did, and ends by itself.

What one takes is a command of the user's, which may bring it to a server (`ssh root@server bayop-idle-record`).
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Final

from bayop.errors import InputError, UnsupportedError, reason
from bayop.last_words import LastWords

BY_HAND: Final = "run it by hand"
"""What to do about a recorder that prints nonsense."""

_END_S: Final = 1.0


@contextmanager
def recorder(words: Sequence[str], *, place: str) -> Iterator[IO[bytes]]:
    """What a recorder prints, while it runs; it is ended with the block.

    Args:
        words: The program and its arguments, in front of them whatever brings it to its machine.
        place: What errors call it.

    Raises:
        InputError: it fails.
        UnsupportedError: the machine can't be recorded, or has no such program.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as err:
        try:
            process = subprocess.Popen(  # noqa: S603 -- running the user's command is the point
                words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err
            )
        except OSError as error:
            hint = "make probe builds it in target/release; name it with its path"
            raise UnsupportedError(wrong=f"cannot run {words[0]}: {reason(error)}", place=place, hint=hint) from error
        with process:
            assert process.stdout is not None  # noqa: S101 -- it was asked for
            try:
                yield process.stdout
            except InputError:
                # What it printed was no recording, perhaps because it has failed: then it says itself why.
                if _code(process) > 0:
                    raise _failure(process.returncode, err, place) from None
                raise
            finally:
                process.terminate()  # Ctrl-C, nonsense, or enough; it has ended otherwise
        if process.returncode > 0:
            raise _failure(process.returncode, err, place)


def _code(process: subprocess.Popen[bytes]) -> int:
    try:
        return process.wait(_END_S)
    except subprocess.TimeoutExpired:
        return 0


def _failure(code: int, err: IO[str], place: str) -> InputError | UnsupportedError:
    """That the recorder failed, in its own words where it has any."""
    err.seek(0)
    said = LastWords.of(err.read())
    kind = UnsupportedError if code == UnsupportedError.exit_code else InputError
    wrong = said.wrong or f"the recorder ended with exit code {code}"
    return kind(wrong=wrong, place=place, hint=said.hint or BY_HAND)
