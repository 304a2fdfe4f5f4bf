"""A user's command as the source of latency: run once per window, it prints one JSON object.

It starts when the window does. A load generator measures for `BAYOP_WINDOW_S`; a query of recorded latencies sleeps
that long and then asks. The setting in effect is in `BAYOP_SETTING`, as JSON::

    #!/bin/sh
    sleep "$BAYOP_WINDOW_S"
    printf '{"vantage": "client", "p99_us": %s}' "$(p99-of-the-last-seconds "$BAYOP_WINDOW_S")"
"""

from __future__ import annotations

import json
from collections.abc import Callable

from bayop.errors import InputError
from bayop.latency.base import Latency, Vantage, Window, check_vantage
from bayop.latency.program import GRACE_S, run_program
from bayop.program import split_command
from bayop.slo import quantile_of


class LatencyCommand:
    """Runs a command for every window.

    Args:
        command: As a shell would split it into words; no shell interprets it further.
        grace_s: How much longer than its window the command may take.

    Raises:
        InputError: there is no command in it.
    """

    def __init__(self, command: str, *, grace_s: float = GRACE_S) -> None:
        self._words = split_command(command)
        self._place = f"latency command {self._words[0]}"
        self._grace_s = grace_s

    def measure(self, window: Window, *, sleep: Callable[[float], None]) -> Latency:
        """What the command prints.

        Raises:
            InputError: it can't be run, takes too long, fails, or prints anything but a latency.
        """
        printed = run_program(
            self._words,
            environment={"BAYOP_WINDOW_S": f"{window.duration_s:g}", "BAYOP_SETTING": json.dumps(dict(window.setting))},
            duration_s=window.duration_s,
            grace_s=self._grace_s,
            sleep=sleep,
            place=self._place,
        )
        return self._latency(printed)

    def _latency(self, printed: str) -> Latency:
        try:
            answer = json.loads(printed)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise InputError(
                "the command must print one JSON object and nothing else",
                value=printed[:80],
                place=self._place,
                hint='such as {"vantage": "client", "p99_us": 310.5, "qps": 400000}',
            )
        vantage = self._vantage(answer.pop("vantage", None))
        quantities = {name: self._number(name, value) for name, value in answer.items()}
        if not any(quantile_of(name) for name in quantities):
            raise InputError(
                "the command must print a latency quantile", value=sorted(answer), place=self._place, hint="p99_us"
            )
        return Latency(quantities, vantage)

    def _vantage(self, value: object) -> Vantage:
        try:
            vantage = Vantage(str(value))
        except ValueError:
            raise InputError(
                "the command must say where it measured",
                wrong="vantage is missing" if value is None else None,
                value=value,
                place=f"{self._place}, vantage",
                hint=f"one of {', '.join(Vantage)}",
            ) from None
        return check_vantage(vantage, place=f"{self._place}, vantage")

    def _number(self, name: str, value: object) -> float:
        place = f"{self._place}, {name}"
        if quantile_of(name) is None and name not in ("mean_us", "qps"):
            raise InputError(
                wrong=f"{name!r} is no quantity of a window",
                value=name,
                place=self._place,
                hint="p50_us ... p999_us, mean_us, qps, vantage",
            )
        # json reads NaN and Infinity, and a truth value is an int.
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < float("inf"):
            raise InputError("a latency or a load must be a positive number", value=value, place=place)
        return float(value)
