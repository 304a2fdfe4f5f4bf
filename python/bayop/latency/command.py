"""A user's command as the source of latency: run once per window, it prints one JSON object.

It starts when the window does. A load generator measures for `BAYOP_WINDOW_S`; a query of recorded latencies sleeps
that long and then asks. The setting in effect is in `BAYOP_SETTING`, as JSON::

    #!/bin/sh
    sleep "$BAYOP_WINDOW_S"
    printf '{"vantage": "client", "p99_us": %s}' "$(p99-of-the-last-seconds "$BAYOP_WINDOW_S")"

A command that knows more while its window runs prints a line for it, an object like the last one, which alone is the
window's. A guard reads them and ends the window of a setting that does harm.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from time import monotonic

from bayop.errors import InputError
from bayop.json_text import parse_object
from bayop.latency.base import GRACE_S, Latency, Vantage, Window, check_vantage
from bayop.latency.program import run_program
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
        self._recent: Latency | None = None

    def measure(self, window: Window, *, sleep: Callable[[float], None]) -> Latency:
        """What the command prints.

        Raises:
            InputError: it can't be run, takes too long, fails, or prints anything but a latency.
        """
        self._recent = None
        ends = monotonic() + window.duration_s

        def heed(printed: str) -> None:
            if monotonic() < ends and (objects := _objects(printed[: printed.rfind("\n") + 1])):
                self._recent = self.read(objects[-1])

        printed = run_program(
            self._words,
            environment={"BAYOP_WINDOW_S": f"{window.duration_s:g}", "BAYOP_SETTING": json.dumps(dict(window.setting))},
            duration_s=window.duration_s,
            grace_s=self._grace_s,
            sleep=sleep,
            place=self._place,
            on_print=heed,
        )
        if len(printed.splitlines()) == 1:
            self._recent = None  # no more than its answer, which came early
        return self.read((_objects(printed) or [printed])[-1])

    def recent(self) -> Latency | None:
        """The last line that the command has printed before its window's end; None when it prints one in all."""
        return self._recent

    def read(self, printed: str) -> Latency:
        """The latency that the command has printed.

        Raises:
            InputError: it is anything else.
        """
        answer = parse_object(
            printed,
            rule="the command must print one JSON object and nothing else",
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
        # A truth value is an int.
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            wrong = f"{name} is null" if value is None else None
            raise InputError("a latency or a load must be a positive number", wrong=wrong, value=value, place=place)
        return float(value)


def _objects(printed: str) -> list[str]:
    """The lines, where each is an object; none where anything else was printed."""
    lines = printed.splitlines()
    return lines if all(line.startswith("{") and line.endswith("}") for line in lines) else []
