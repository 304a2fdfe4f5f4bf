"""A user's command as the source of latency: run once per window, it prints one JSON object.

It starts when the window does. A load generator measures for `BAYOP_WINDOW_S`; a query of recorded latencies sleeps
that long and then asks. The setting in effect is in `BAYOP_SETTING`, as JSON::

    #!/bin/sh
    sleep "$BAYOP_WINDOW_S"
    printf '{"vantage": "client", "p99_us": %s}' "$(p99-of-the-last-seconds "$BAYOP_WINDOW_S")"
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from tempfile import TemporaryFile
from time import monotonic
from typing import IO, Final

from bayop.errors import InputError
from bayop.latency.base import Latency, Vantage, Window, check_vantage
from bayop.slo import quantile_of

GRACE_S: Final = 10.0
"""How much longer than its window a command may take."""

_POLL_S: Final = 0.02
_MOST_BYTES: Final = 64 * 1024


class LatencyCommand:
    """Runs a command for every window.

    Args:
        command: As a shell would split it into words; no shell interprets it further.
        grace_s: How much longer than its window the command may take.

    Raises:
        InputError: there is no command in it.
    """

    def __init__(self, command: str, *, grace_s: float = GRACE_S) -> None:
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise InputError(f"the command can be split into words ({error})", value=command) from error
        if not self._words:
            raise InputError("a command is not empty", value=command)
        self._place = f"latency command {self._words[0]}"
        self._grace_s = grace_s

    def measure(self, window: Window, *, sleep: Callable[[float], None]) -> Latency:
        """What the command prints.

        Raises:
            InputError: it can't be run, takes too long, fails, or prints anything but a latency.
        """
        with TemporaryFile() as out, TemporaryFile() as err:
            code = self._run(window, sleep, out, err)
            printed, said = _head(out), _head(err).strip().splitlines()
        if code != 0:
            hint = said[-1] if said else "it says nothing on stderr: run it by hand"
            raise InputError("the command ends with exit code 0", value=code, place=self._place, hint=hint)
        return self._latency(printed)

    def _run(self, window: Window, sleep: Callable[[float], None], out: IO[bytes], err: IO[bytes]) -> int:
        environment = {"BAYOP_WINDOW_S": f"{window.duration_s:g}", "BAYOP_SETTING": json.dumps(dict(window.setting))}
        try:
            # A session of its own: Ctrl-C is for us, and whatever the command has started ends with it.
            process = subprocess.Popen(  # noqa: S603 -- running the user's command is the point
                self._words,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=os.environ | environment,
                start_new_session=True,
            )
        except OSError as error:
            raise InputError(
                "the command can be run", value=self._words[0], place="--latency", hint=error.strerror
            ) from error
        ends = monotonic() + window.duration_s + self._grace_s
        try:
            while (code := process.poll()) is None:
                if monotonic() > ends:
                    raise InputError(
                        f"the command ends within {self._grace_s:g} s after its window of {window.duration_s:g} s",
                        place=self._place,
                        hint="BAYOP_WINDOW_S says how long to measure",
                    )
                sleep(_POLL_S)
        finally:
            _end(process)
        return code

    def _latency(self, printed: str) -> Latency:
        try:
            answer = json.loads(printed)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise InputError(
                "the command prints one JSON object and nothing else",
                value=printed[:80],
                place=self._place,
                hint='such as {"vantage": "client", "p99_us": 310.5, "qps": 400000}',
            )
        vantage = self._vantage(answer.pop("vantage", None))
        quantities = {name: self._number(name, value) for name, value in answer.items()}
        if not any(quantile_of(name) for name in quantities):
            raise InputError(
                "the command prints a latency quantile", value=sorted(answer), place=self._place, hint="p99_us"
            )
        return Latency(quantities, vantage)

    def _vantage(self, value: object) -> Vantage:
        try:
            vantage = Vantage(str(value))
        except ValueError:
            raise InputError(
                "the command says where it measured",
                value=value,
                place=f"{self._place}, vantage",
                hint=f"one of {', '.join(Vantage)}",
            ) from None
        return check_vantage(vantage, place=f"{self._place}, vantage")

    def _number(self, name: str, value: object) -> float:
        place = f"{self._place}, {name}"
        if quantile_of(name) is None and name not in ("mean_us", "qps"):
            raise InputError(
                "the quantity is unknown",
                value=name,
                place=self._place,
                hint="p50_us ... p999_us, mean_us, qps, vantage",
            )
        # json reads NaN and Infinity, and a truth value is an int.
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < float("inf"):
            raise InputError("a latency or a load is a positive number", value=value, place=place)
        return float(value)


def _head(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_MOST_BYTES).decode("utf-8", "replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the command with everything that it started; no process outlives its window."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
