"""`bayop run` as a process of its own, that looks after the rig's service, and the operator's word to it."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from bayop.daemon.operator.client import ask
from bayop.errors import BayopError, DriftError, UnsupportedError
from bayop.experiments.rig.day.record import RigDay, RunWindow
from bayop.experiments.rig.day.server import Server
from bayop.experiments.rig.veth import start
from bayop.last_words import LastWords
from bayop.program import end
from bayop.state.records import read

_SERVICE: Final = "memcached"
_START_S: Final = 60.0
_END_S: Final = 30.0
_MOST: Final = 10**9
_BREACH_REST: Final = 1 / 6
"""Ten minutes of an hour, as `bayop run` has it by default."""

_PAGE: Final = re.compile(r"^the page is at (http://\S+)$", re.MULTILINE)
"""How it says where its page is."""

_FILE: Final = """\
[web]
listen = "127.0.0.1:0"

[service.{service}]
agent = {agent}
latency = {latency}
slo = {slo}
objective = {objective}
mode = "apply"

{tables}
[service.{service}.window]
window_s = 0.75
settle_s = 0.1
most_windows = 1

[service.{service}.guard]
headroom = {headroom:g}

[service.{service}.policy]
triggers = "load,breach"
load_change = 0.05
breach_rest_s = {breach_rest_s:g}
watch_s = 2
max_trials = 5

[service.{service}.hold]
lease_s = 10
silence_s = 5
latency_factor = 3
"""


class Keeper:
    """Runs from `with` to its end, and is paused at first.

    Args:
        server: What it looks after.
        latency: The command that says what clients see.
        slo: The latency objective.
        objective: What is minimised.
        headroom: How far settings are held below the SLO's limit, as a share of it.
        hour_s: How long an hour takes, in s.

    Attributes:
        page_url: Where its page is, on this machine, once it runs.
    """

    page_url: str

    def __init__(
        self, server: Server, *, latency: str, slo: str, objective: str, headroom: float, hour_s: float
    ) -> None:
        folder = server.folder
        self._file, self._state, self._log = folder / "bayop.toml", folder / "bayop.db", folder / "bayop.log"
        words = {"agent": server.address, "latency": latency, "slo": slo, "objective": objective}
        tables = {"knobs": server.knobs, "tls": asdict(server.credentials) if server.credentials else {}}
        self._file.write_text(
            _FILE.format(
                service=_SERVICE,
                tables="".join(_table(name, table) for name, table in tables.items() if table),
                headroom=headroom,
                breach_rest_s=hour_s * _BREACH_REST,
                **{name: _text(word) for name, word in words.items()},
            ),
            encoding="utf-8",
        )

    def __enter__(self) -> Self:
        """Starts it, and waits for its page.

        Raises:
            BayopError: it does not answer.
        """
        with self._log.open("wb") as log:
            self._process = start([sys.executable, "-m", "bayop", "run", str(self._file)], log=log)
        ends = time.monotonic() + _START_S
        while True:
            try:
                self.page_url = self._page()  # from then on it has its service
                self.pause()
            except UnsupportedError:
                self.check()
                if time.monotonic() > ends:
                    self.close()
                    raise
                time.sleep(0.05)
            else:
                return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends it, which puts the machine's own settings back; what it can't, the agent's lease does."""
        end(self._process, within_s=_END_S)

    def pause(self) -> None:
        """Puts the machine's own settings back, and waits for that.

        Raises:
            DriftError: they are not known to be back.
            BayopError: it does not answer.
        """
        (standing,) = self._say("pause")
        if standing["doing"] != "paused" or not standing["restored"]:
            raise DriftError(wrong="bayop run is paused, but has not let go of the machine", place=str(self._file))

    def resume(self) -> None:
        """Lets it go on.

        Raises:
            BayopError: it does not answer.
        """
        self._say("resume")

    def _page(self) -> str:
        if (said := _PAGE.search(self._said())) is None:
            raise UnsupportedError(wrong="bayop run does not say where its page is", place=str(self._log))
        return said[1]

    def check(self) -> None:
        """Raises when it has ended.

        Raises:
            BayopError: it has.
        """
        if (code := self._process.poll()) is not None:
            said = LastWords.of(self._said())
            raise BayopError(
                wrong=f"bayop run ended before the day, with exit code {code}",
                value=code,
                hint=said.wrong,
            )

    @property
    def cpu_s(self) -> float:
        """Processor time that it has taken, with the programs that it has waited for (proc(5), stat), in s."""
        try:
            text = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8")
        except OSError:
            return 0.0
        ticks = text.rpartition(")")[2].split()[11:15]
        return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")

    def note(self, record: RigDay) -> None:
        """Takes over what its state remembers."""
        record.windows = [
            RunWindow(row["start_s"], row["duration_s"], row["phase"], row["setting"])
            for row in read(self._state, "window", last=_MOST)
        ]
        searches = read(self._state, "search", last=_MOST)
        record.searches, record.trials = len(searches), sum(row["trials"] for row in searches)

    def _said(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def _say(self, verb: str) -> list[dict[str, Any]]:
        return ask(self._state, verb)


def _table(name: str, values: Mapping[str, object]) -> str:
    lines = (f"{_text(key)} = {_text(value)}\n" for key, value in values.items())
    return "".join([f"[service.{_SERVICE}.{name}]\n", *lines, "\n"])


def _text(value: object) -> str:
    """A text of TOML, which a JSON text is too."""
    return json.dumps(str(value))
