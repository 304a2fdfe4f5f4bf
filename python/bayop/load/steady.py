"""BayOp's own load on a server, kept up for as long as a search lasts, as a source of latency.

The generator runs in a process of its own, where its clients are: in this network namespace, in another one, or on
another machine. Its load comes in slices of a quarter of a second with some ms between them, and the histograms of the
slices of a window merge exactly. A slice that began before the window does not count.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from tempfile import TemporaryFile
from time import monotonic
from types import TracebackType
from typing import Any, Final, Self

from bayop import _core
from bayop.errors import BayopError, InputError, UnsupportedError, reason
from bayop.json_text import parse_object
from bayop.last_words import LastWords
from bayop.latency.base import GRACE_S, Latency, Vantage, Window
from bayop.load.generator import QUANTILES, Result, offered_qps
from bayop.load.plan import OpenLoop, Plan, ServerError
from bayop.saving import Z_95
from bayop.slo import quantile_name

SLICE_S: Final = 0.25
"""How long a slice is: how late a guard sees what clients see."""

_WARMUP_S: Final = 0.02
_RECENT_SLICES: Final = 2
_TELLING_REQUESTS: Final = 400
"""So many tell the load: by chance alone they are a fifth more or less in one of 15,000 moments."""
_START_S: Final = 10.0
"""How long the first slice may be under way, beside the time that lost requests are waited for."""
_LATE_S: Final = 1.0
"""How much later than it ends a slice is reported at most."""
_POLL_S: Final = 0.02
_ERRORS: Final = (InputError, ServerError, UnsupportedError)


class LoadLostError(BayopError):
    """The load generator has gone: exit code 1."""


class SteadyLoad:
    """A load that begins with `with` and ends with it.

    Args:
        plan: The load; an open loop. Its durations are replaced by those of slices.
        through: What brings a command to where the clients are, such as `ip netns exec clients` or `ssh client`.
        store: Whether records are stored first, where the protocol has any.
        on_slice: Takes over every slice as soon as it is reported, in a thread of ours; nothing is kept for `measure`.

    Raises:
        InputError: the load of the plan is not an open loop.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        through: Sequence[str] = (),
        store: bool = True,
        on_slice: Callable[[_core.LoadReport], None] | None = None,
    ) -> None:
        if not isinstance(plan.schedule, OpenLoop):
            raise InputError("a load that is kept up must be an open loop", value=type(plan.schedule).__name__)
        self._plan = replace(plan, warmup_s=_WARMUP_S, duration_s=SLICE_S)
        self._on_slice = on_slice
        self._words = [*through, sys.executable, "-m", "bayop.load.steady_worker", *(() if store else ("--noload",))]
        # Slices of the window, after those that had begun before it.
        self._slices: list[_core.LoadReport] = []
        self._begun_before = 0
        self._recent: tuple[_core.LoadReport, Latency] | None = None
        self._lock = threading.Lock()
        self._error: BayopError | None = None
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        """Starts the load and waits until the server answers.

        Raises:
            BayopError: the generator can't be started, or the server not be loaded.
        """
        self._stderr = TemporaryFile("w+", encoding="utf-8", errors="replace")
        try:
            # A session of its own: Ctrl-C ends the search, and the load with it, not before it.
            self._process = subprocess.Popen(  # noqa: S603 -- our own program, brought there by the user's words
                self._words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                text=True,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            self.close()
            raise InputError(
                wrong=f"cannot start the load generator {self._words[0]}: {reason(error)}",
            ) from error
        self._thread = threading.Thread(target=self._read, args=(self._process,), name="bayop-load", daemon=True)
        self._thread.start()
        try:
            self._ask()
            self._await(1, threading.Event().wait, within_s=_START_S + self._plan.timeout_s)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the load."""
        if self._process is not None:
            with suppress(BrokenPipeError):
                self._stdin.close()
            try:
                self._process.wait(timeout=2.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._thread.join()
            if self._process.stdout is not None:
                self._process.stdout.close()
        self._stderr.close()

    @property
    def pid(self) -> int | None:
        """The process of the generator; None before it was started."""
        return None if self._process is None else self._process.pid

    @property
    def qps(self) -> float:
        """The load that is asked for, in requests/s."""
        return offered_qps(self._plan) or 0.0

    def change(self, qps: float) -> None:
        """Asks for another load, from the slice after the one that is under way."""
        self._plan = self._plan.at(qps)
        self._ask()

    def check(self) -> None:
        """Raises what has ended the load.

        Raises:
            LoadLostError: the generator has ended.
            ServerError: the server is gone.
        """
        if self._error is not None:
            raise self._error

    def measure(self, window: Window, *, sleep: Callable[[float], None]) -> Latency:
        """What the slices that begin in the window have seen.

        Raises:
            LoadLostError: the generator has ended.
            ServerError: the server is gone, or answers nothing.
        """
        with self._lock:
            self._slices, self._begun_before = [], 1
        count = max(round(window.duration_s / SLICE_S), 1)
        self._await(count, sleep, within_s=window.duration_s + GRACE_S)
        result = self._merge(self._slices[:count])
        if not result.counts["answered"]:
            raise ServerError(
                wrong="the server does not answer" + "".join(f": {trouble}" for trouble in result.troubles),
                place=", ".join(self._plan.servers),
            )
        return latency_of(result)

    def recent(self) -> Latency | None:
        """What the last slices of the window show, of the load only where they tell it; None before the first."""
        slices = self._slices[-_RECENT_SLICES:]
        if not slices:
            return None
        if self._recent is None or self._recent[0] is not slices[-1]:
            # A guard asks far more often than a slice ends, and what that costs is measured along with the service.
            merged = self._merge(slices)
            latency = latency_of(merged)
            if merged.counts["intended"] < _TELLING_REQUESTS:
                quantities = {name: value for name, value in latency.quantities.items() if name != "qps"}
                latency = replace(latency, quantities=quantities)
            self._recent = slices[-1], latency
        return self._recent[1]

    def _await(self, count: int, sleep: Callable[[float], object], *, within_s: float) -> None:
        """Waits for so many slices; fewer will do where they take longer because requests are lost in them."""
        seen, heard = 0, monotonic()
        ends = heard + within_s
        while len(self._slices) < count:
            self.check()
            if len(self._slices) > seen:
                seen, heard = len(self._slices), monotonic()
            if monotonic() > ends:
                if seen and ends - heard < SLICE_S + self._plan.timeout_s + _LATE_S:
                    return
                raise LoadLostError(
                    wrong=f"the load generator is silent, and must report every {SLICE_S:g} s",
                    value="nothing",
                )
            sleep(_POLL_S)

    def _ask(self) -> None:
        with suppress(BrokenPipeError):
            self._stdin.write(f"{self._plan.to_json()}\n")
            self._stdin.flush()

    @property
    def _stdin(self) -> Any:  # noqa: ANN401 -- IO[str]; there is one once the process was started
        return None if self._process is None else self._process.stdin

    def _merge(self, slices: Sequence[_core.LoadReport]) -> Result:
        total = slices[0].copy()
        for later in slices[1:]:
            total.append(later)
        return Result(total, self.qps)

    def _read(self, process: subprocess.Popen[str]) -> None:
        """Takes in what the generator prints, in a thread."""
        for line in process.stdout or ():
            word, _, text = line.partition(" ")
            try:
                if word == "error":
                    self._error = BayopError.of_parts(parse_object(text), _ERRORS)
                    return
                report = _core.LoadReport.from_json(text)
            except (BayopError, _core.Error, KeyError, TypeError):
                self._error = LoadLostError(
                    "what starts the load generator must print nothing else", value=line[:80].strip()
                )
                return
            with self._lock:
                if self._begun_before:
                    self._begun_before -= 1
                elif self._on_slice is None or not self._slices:
                    self._slices.append(report)
            if self._on_slice is not None:
                self._on_slice(report)
        self._error = LoadLostError(
            wrong=f"the load generator ended before the search: {_death(process.wait())}",
            value=_death(process.wait()),
            hint=self._last_words(),
        )

    def _last_words(self) -> str | None:
        self._stderr.seek(0)
        return LastWords.of(self._stderr.read()).wrong


def latency_of(result: Result) -> Latency:
    """What clients saw of some slices."""
    quantiles = [q for q in result.quantiles(QUANTILES) if q.value_us is not None]
    quantities = {quantile_name(q.quantile): q.value_us for q in quantiles if q.value_us is not None}
    sd = {quantile_name(q.quantile): q.half_width / Z_95 for q in quantiles if q.half_width}
    return Latency(quantities | {"qps": result.achieved_qps}, Vantage.CLIENT, sd)


def _death(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
