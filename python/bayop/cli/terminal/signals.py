"""Ctrl-C and SIGTERM while a verb runs: exceptions, so that it restores what it has changed, and never a traceback."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from bayop.cli.terminal.exit_codes import TERMINATED
from bayop.errors import DriftError

_HOOK_S: Final = 0.01
"""How long Python usually takes to come back from a hook."""


@contextmanager
def unwinding() -> Iterator[None]:
    """Raises KeyboardInterrupt for SIGINT, and SystemExit for SIGTERM, the second of which does not interrupt that.

    One that arrives in a destructor or a callback, where Python drops exceptions, is raised again where it counts; and
    so is one that a library turns into an error of its own (a module that was being loaded, say).
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _signals.clear()
    handlers = {signal.SIGTERM: signal.signal(signal.SIGTERM, _terminate)}
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        handlers[signal.SIGINT] = signal.signal(signal.SIGINT, _interrupt)
    hook, sys.unraisablehook = sys.unraisablehook, _raise_again
    try:
        yield
    except DriftError:
        raise  # what is in effect on a machine is said in any case
    except Exception:
        if signal.SIGTERM in _signals:
            raise SystemExit(TERMINATED) from None
        if signal.SIGINT in _signals:
            raise KeyboardInterrupt from None
        raise
    finally:
        sys.unraisablehook = hook
        for number, handler in handlers.items():
            signal.signal(number, handler)


_signals: set[int] = set()


def _interrupt(number: int, frame: FrameType | None) -> None:
    _signals.add(number)
    if _is_in_hook(frame):
        return _send_again(number)
    raise KeyboardInterrupt


def _terminate(number: int, frame: FrameType | None) -> None:
    if _is_in_hook(frame):
        return _send_again(number)
    _signals.add(number)
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(TERMINATED)


def _is_in_hook(frame: FrameType | None) -> bool:
    """Whether the hook for dropped exceptions is under way, which would drop another one."""
    while frame is not None and frame.f_code is not _raise_again.__code__:
        frame = frame.f_back
    return frame is not None


def _raise_again(unraisable: sys.UnraisableHookArgs) -> None:
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        _send_again(signal.SIGINT)
    elif issubclass(unraisable.exc_type, SystemExit):
        signal.signal(signal.SIGTERM, _terminate)
        _send_again(signal.SIGTERM)
    else:
        sys.__unraisablehook__(unraisable)


def _send_again(number: int) -> None:
    """Sends a signal to this process when the hook has returned, in which an exception would be dropped as well."""
    timer = threading.Timer(_HOOK_S, os.kill, (os.getpid(), number))
    timer.daemon = True
    timer.start()
