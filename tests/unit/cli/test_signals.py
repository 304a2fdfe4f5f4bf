from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import Any

import pytest

from bayop.cli import main
from bayop.cli.parser import build_parser
from bayop.cli.terminal.signals import unwinding
from bayop.errors import DriftError


class Dying:
    """Its destructor is interrupted."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        os.kill(os.getpid(), self.number)


def die(number: int) -> None:
    Dying(number)
    time.sleep(5.0)


def test_an_interrupt_in_a_destructor_is_not_lost() -> None:
    with unwinding(), pytest.raises(KeyboardInterrupt):
        die(signal.SIGINT)


def test_a_termination_in_a_destructor_is_not_lost() -> None:
    with unwinding(), pytest.raises(SystemExit) as caught:
        die(signal.SIGTERM)
    assert caught.value.code == 143


def test_a_second_termination_waits() -> None:
    cleaned_up = []

    def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            cleaned_up.append(True)

    with unwinding(), pytest.raises(SystemExit):
        work()
    assert cleaned_up


def test_handlers_are_as_they_were() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with unwinding():
        assert signal.getsignal(signal.SIGTERM) != before[1]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_an_ignored_interrupt_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with unwinding():
            os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def load(number: int) -> None:
    """As a library that is ended while it is loaded."""
    try:
        os.kill(os.getpid(), number)
    except BaseException as error:
        raise ImportError("numpy could not be loaded") from error


def test_an_interrupt_that_a_library_made_an_error_of_is_an_interrupt(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    build_parser(["knobs"])  # loads the verb
    monkeypatch.setattr("bayop.cli.knobs.run", lambda _args: load(signal.SIGINT))
    assert main(["knobs"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_termination_that_a_library_made_an_error_of_is_a_termination() -> None:
    with pytest.raises(SystemExit) as caught, unwinding():
        load(signal.SIGTERM)
    assert caught.value.code == 143


def test_an_error_after_an_interrupt_that_ended_nothing_is_not_the_next_ones() -> None:
    with suppress(KeyboardInterrupt), unwinding():
        os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(ImportError), unwinding():
        raise ImportError


def test_a_drift_after_an_interrupt_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(_args: Any) -> int:
        with suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        raise DriftError(wrong="cpu.freq_mhz could not be restored")

    build_parser(["knobs"])
    monkeypatch.setattr("bayop.cli.knobs.run", run)
    assert main(["knobs"]) == 3
    assert "cpu.freq_mhz could not be restored" in capsys.readouterr().err
