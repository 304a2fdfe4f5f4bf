"""The clients of the rig's service: a load that changes by the hour, and what they say of it to whoever asks.

`bayop run` asks them by a command, as it would ask the clients of a service in production: one connection a window,
which gets a line for each slice of the load, and last the line of all slices that began in the window.
"""

from __future__ import annotations

import json
import queue
import shlex
import socketserver
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from bayop import _core
from bayop.errors import BayopError
from bayop.load.generator import Result
from bayop.load.plan import Plan
from bayop.load.steady import SLICE_S, SteadyLoad, latency_of

_LATEST_S: Final = 5.0
"""A slice that takes longer than this is not waited for."""

_RECENT: Final = 2
"""How many slices make what clients see right now."""


class Clients:
    """Loads the service from `with` to its end.

    Args:
        plan: The load; its rate is that of the first hour.
        through: What brings the generator to where the clients are.
        on_slice: Given every slice, in a thread of ours.
    """

    def __init__(self, plan: Plan, *, through: Sequence[str], on_slice: Callable[[_core.LoadReport], None]) -> None:
        self._load = SteadyLoad(plan, through=through, on_slice=self._spread)
        self._on_slice = on_slice
        self._listeners: list[queue.SimpleQueue[_core.LoadReport]] = []
        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)

    def __enter__(self) -> Self:
        """Starts the load and waits until the service answers.

        Raises:
            BayopError: it does not.
        """
        try:
            self._load.__enter__()
        except BaseException:
            self._server.server_close()
            raise
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._load.close()

    @property
    def command(self) -> str:
        """The command that says what clients see, as a source of latency."""
        port = self._server.server_address[1]
        script = f'exec 3<>/dev/tcp/127.0.0.1/{port}; echo "$BAYOP_WINDOW_S" >&3; exec cat <&3'
        return shlex.join(["bash", "-c", script])

    def change(self, qps: float) -> None:
        """Asks for another load."""
        self._load.change(qps)

    def check(self) -> None:
        """Raises what has ended the load.

        Raises:
            BayopError: the generator or the service is gone.
        """
        self._load.check()

    def _spread(self, report: _core.LoadReport) -> None:
        self._on_slice(report)
        for listener in list(self._listeners):
            listener.put(report)

    def _window(self, duration_s: float, say: Callable[[str], None]) -> None:
        """Says what a window shows, slice by slice."""
        listener: queue.SimpleQueue[_core.LoadReport] = queue.SimpleQueue()
        self._listeners.append(listener)
        try:
            listener.get(timeout=_LATEST_S)  # began before the window
            slices: list[_core.LoadReport] = []
            for _ in range(max(round(duration_s / SLICE_S) - 1, 1)):
                slices.append(listener.get(timeout=_LATEST_S))
                say(_line(slices[-_RECENT:]))
            say(_line(slices))
        finally:
            self._listeners.remove(listener)

    def _handler(self) -> type[socketserver.StreamRequestHandler]:
        window = self._window

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                # Who asks may leave before the window is over; a load that is gone is told by `check`.
                with suppress(OSError, ValueError, queue.Empty, BayopError):
                    window(float(self.rfile.readline(100)), self._say)

            def _say(self, line: str) -> None:
                self.wfile.write(f"{line}\n".encode())

        return Handler


def _line(slices: Sequence[_core.LoadReport]) -> str:
    total = slices[0].copy()
    for later in slices[1:]:
        total.append(later)
    latency = latency_of(Result(total, None))
    return json.dumps({"vantage": str(latency.vantage), **latency.quantities})
