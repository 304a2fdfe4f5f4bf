from __future__ import annotations

import errno
import io
import os
import signal
import subprocess
import sys
from typing import NoReturn

import pytest

from bayop.cli.terminal.streams import ReaderLeftError, StdoutError, guard


class Broken(io.StringIO):
    """A stream that can't be written."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def write(self, _text: str) -> NoReturn:
        raise OSError(self.number, os.strerror(self.number))


def test_a_full_disk_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Broken(errno.ENOSPC))
    with guard(), pytest.raises(StdoutError) as caught:
        print("x")
    assert caught.value.message == "cannot write to stdout: no space left on device"
    assert caught.value.exit_code == 1


def test_a_reader_who_left_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Broken(errno.EPIPE))
    with guard(), pytest.raises(ReaderLeftError):
        print("x")


@pytest.mark.parametrize("words", ["knobs", "knobs --json", "help tune"])
def test_a_reader_who_left_ends_the_program_as_a_closed_pipe_ends_others(words: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "bayop", *words.split()]
    ended = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGPIPE, b"")


def test_streams_may_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    with guard():
        sys.stderr.write("nobody reads this")
        sys.stdout.flush()
        assert not sys.stdout.isatty()
        with pytest.raises(StdoutError, match="cannot write to stdout: it is closed"):
            print("x")


def test_the_stream_is_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout
    with guard():
        print("x")
        assert sys.stdout.encoding == before.encoding
    assert sys.stdout is before
    assert capsys.readouterr().out == "x\n"


def test_a_letter_that_the_terminal_does_not_know_is_a_question_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    with guard():
        print("50 µs")
        sys.stdout.flush()
    assert raw.getvalue() == b"50 ?s\n"
