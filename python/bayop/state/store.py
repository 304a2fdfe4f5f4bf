"""The one writer of what is remembered: each row is on disk before what follows from it is done.

SQLite in WAL mode with full synchronisation: killed at any write, or cut from power, the file opens with every row that
was committed and no half of another. Readers (`state/records.py`) never wait for the writer, nor it for them.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from bayop.control.budget import Spending
from bayop.control.history import MOST, History
from bayop.control.ledger import LedgerWindow, Search
from bayop.control.notes import SwitchedBack
from bayop.control.warm import ENDED_BY_ITSELF, MOST_FOUND, Found
from bayop.control.week import HourLoad
from bayop.optimize.base import Observation
from bayop.state.aging import age
from bayop.state.damage import (
    DAMAGED_WINDOWS,
    SOUND_WINDOW,
    AdviceSaid,
    Advised,
    FoundRow,
    Numbered,
    StateError,
    Summed,
    SwitchbackRow,
    raise_damage,
    sound,
)
from bayop.state.database import Database
from bayop.state.held import HeldTime, held_time, switchback
from bayop.state.learned import ROWS, observations
from bayop.switchback import Switchback
from bayop.units import DAY_S

__all__ = ["StateError", "Store"]

T = TypeVar("T")

_TIDY_EVERY: Final = 100
"""After so many observations those that no history reads any more are removed."""

_DECIDES: Final = ("start", "paused", "resumed", "let-go", "forgotten")
"""Events by which a later start decides: they are rare, and at once in the main file, which is then a state alone."""

_AGE_EVERY: Final = 100
"""After so many windows of a service its old ones lose detail."""
_CONFIRMED_S: Final = 4 * DAY_S
"""A clock is believed where a window began a day ago, or so long ago at most."""
_DATED: Final = (
    ("event", "time_s", "event IN ('let-go', 'forgotten', 'polished')"),
    ("search", "start_s", "TRUE"),
    ("switchback", "start_s", "TRUE"),
    ("window", "start_s", "TRUE"),
)
"""What decides by its time: the table, its column, and which of its rows."""


class Store:
    """The file, opened to be written. Safe to use from several threads.

    Args:
        path: The file; it is made when there is none.

    Attributes:
        on_damage: Called once for each row that is damaged and left out, and whenever somebody has touched the log.
            Unless somebody listens, it is an error.

    Raises:
        InputError: it can't be written, is no such file, is of another version, or another process writes it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.on_damage: Callable[[StateError], object] = raise_damage
        self._damaged: set[str] = set()
        self._added = 0
        self._windows: Counter[str] = Counter()
        self._database = Database(path, on_touched=self._say)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets others write."""
        self._database.close()

    def add_observation(self, service: str, observation: Observation) -> None:
        """Remembers what a setting has measured, for later searches."""
        measurement = observation.measurement
        self._insert(
            "observation",
            service=service,
            setting=_json(observation.setting),
            measured=_json(measurement.quantities),
            relative_sd=_json(measurement.relative_sd),
            cut_short=measurement.cut_short,
            qps=observation.qps,
        )
        self._added += 1
        if self._added % _TIDY_EVERY == 0:
            self._tidy(service)

    def add_window(self, service: str, window: LedgerWindow) -> None:
        """Remembers a window."""
        self._insert(
            "window",
            service=service,
            start_s=window.start_s,
            duration_s=window.duration_s,
            phase=window.phase,
            setting=None if window.setting is None else _json(window.setting),
            qps=window.qps,
            power_w=window.power_w,
            latency_us=window.latency_us,
            over_share=window.over_share,
            meets_slo=window.meets_slo,
            search=window.search,
            cut_short=window.cut_short,
        )
        self._windows[service] += 1
        if self._windows[service] % _AGE_EVERY == 1 and self._confirms(service, window.end_s):
            self.age(service, window.end_s)

    def _confirms(self, service: str, now_s: float) -> bool:
        """Whether windows of a day and more ago speak for a clock: one that is far ahead would take all for old."""
        sql = "SELECT 1 FROM window WHERE service = ? AND start_s BETWEEN ? AND ? LIMIT 1"
        return bool(self._query(sql, service, now_s - _CONFIRMED_S, now_s - DAY_S))

    def age(self, service: str, now_s: float, *, days: int = 7) -> None:
        """Takes detail from windows that are old, in so many days of them at most.

        Raises:
            StateError: it can't be written.
        """
        with self._database.using() as database:
            age(database, service, now_s, days=days)

    def add_search(self, service: str, search: Search) -> None:
        """Remembers a search that has ended."""
        self._insert(
            "search",
            service=service,
            number=search.number,
            reason=search.reason,
            start_s=search.start_s,
            end_s=search.end_s,
            qps=search.qps,
            trials=len(search.trials),
            stopped=search.stopped,
            setting=None if search.setting is None else _json(search.setting),
        )
        self._database.settle()

    def add_switchback(self, service: str, switched_back: SwitchedBack) -> None:
        """Remembers what the three windows of a switchback took."""
        power_w = switched_back.power_w
        self._insert(
            "switchback",
            service=service,
            start_s=switched_back.start_s,
            end_s=switched_back.end_s,
            setting=_json(switched_back.setting),
            pause_s=power_w.pause_s,
            before_w=power_w.before,
            default_w=power_w.default,
            after_w=power_w.after,
        )

    def add_event(self, time_s: float, service: str | None, event: str, fields: Mapping[str, object]) -> None:
        """Remembers that something happened."""
        self._insert("event", time_s=time_s, service=service, event=event, fields=_json(fields))
        if event in _DECIDES:
            self._database.settle()

    def last_search(self, service: str) -> int:
        """The number of a service's last search; 0 before the first."""
        sql = "SELECT 'search', id, number FROM search WHERE service = ? ORDER BY number DESC"
        return next((row["number"] for row in self._sound(Numbered, sql, service)), 0)

    def is_paused(self, service: str) -> bool:
        """Whether the last word of an operator on a service was to pause it: the last of its events that say so."""
        sql = "SELECT event FROM event WHERE service = ? AND event IN ('paused', 'resumed') ORDER BY id DESC LIMIT 1"
        return self._query(sql, service) == [("paused",)]

    def holders(self) -> set[str]:
        """Who the last processes that wrote this state were to agents. None but us of them lives: each had the lock."""
        sql = """
            SELECT json_extract(fields, '$.holder') FROM event WHERE event = 'start' AND json_valid(fields)
            ORDER BY id DESC LIMIT 1000
        """
        return {holder for (holder,) in self._query(sql) if isinstance(holder, str)}

    def let_go_s(self, service: str, now_s: float) -> float | None:
        """When a setting was let go of last because it saves nothing; None where that was not, or is forgotten."""
        sql = """
            SELECT event, time_s FROM event WHERE service = ? AND event IN ('let-go', 'forgotten') AND time_s <= ?
            ORDER BY id DESC LIMIT 1
        """
        self._say_ahead(service, now_s)
        last = self._query(sql, service, now_s)
        return float(last[0][1]) if last and last[0][0] == "let-go" else None

    def judged_switchbacks(self, service: str, now_s: float, last: int) -> list[Switchback]:
        """The newest switchbacks since a setting was let go of, or all was forgotten; oldest first."""
        sql = """
            SELECT 'switchback', id, start_s, before_w, default_w, after_w, pause_s FROM switchback
            WHERE service = ?1 AND start_s <= ?2 AND start_s >= (SELECT coalesce(max(time_s), 0) FROM event
              WHERE service = ?1 AND event IN ('let-go', 'forgotten') AND time_s <= ?2)
            ORDER BY id DESC LIMIT ?3
        """
        self._say_ahead(service, now_s)
        return [switchback(row) for row in self._sound(SwitchbackRow, sql, service, now_s, last)][::-1]

    def held_time(self, service: str, since_s: float, until_s: float) -> HeldTime:
        """How long settings were held between two times, and what their switchbacks took."""
        return held_time(self._query, self._sound, service, since_s, until_s)

    def found(self, service: str, now_s: float, last: int = MOST_FOUND) -> list[Found]:
        """What the newest searches of a service have found that ended by themselves, and what was held later instead.

        Oldest first; none from before a setting was let go of because it saves nothing.
        """
        sql = """
            SELECT name, id, qps, setting FROM (
              SELECT 'search' AS name, id, start_s AS time_s, qps, setting FROM search
                WHERE service = ?1 AND setting IS NOT NULL AND stopped IN (SELECT value FROM json_each(?4))
              UNION ALL SELECT 'event', id, time_s,
                iif(json_valid(fields), json_extract(fields, '$.qps'), 'no JSON') AS qps,
                iif(json_valid(fields), json_extract(fields, '$.setting'), fields)
                FROM event WHERE service = ?1 AND event = 'polished' AND qps IS NOT NULL)
            WHERE time_s <= ?2 AND time_s >= (SELECT coalesce(max(time_s), 0) FROM event
              WHERE service = ?1 AND event = 'let-go' AND time_s <= ?2)
            ORDER BY time_s DESC, id DESC LIMIT ?3
        """
        self._say_ahead(service, now_s)
        rows = self._sound(FoundRow, sql, service, now_s, last, json.dumps(ENDED_BY_ITSELF))
        return [Found(row["qps"], row["setting"]) for row in rows][::-1]

    def hours(self, service: str, since_s: float, until_s: float) -> list[HourLoad]:
        """The mean load of each hour between two times of which windows show at least half."""
        sql = f"""
            SELECT 3600.0 * CAST(start_s / 3600 AS INTEGER) AS hour_s, total(qps * duration_s) / total(duration_s)
            FROM window WHERE service = ? AND start_s >= ? AND start_s < ? AND {SOUND_WINDOW}
            GROUP BY hour_s HAVING total(duration_s) >= 1800
        """  # noqa: S608 -- our own words
        self._say_damaged_windows(service, since_s, math.inf)
        return [HourLoad(*row) for row in self._query(sql, service, since_s, until_s)]

    def open_advice(self, service: str) -> Advised | None:
        """What a service was advised last; None where that was never, or was held against what it came to."""
        sql = """
            SELECT 'event', id, event, fields FROM event
            WHERE service = ? AND event IN ('advice', 'advice-proven') ORDER BY id DESC LIMIT 1
        """
        last = next(self._sound(AdviceSaid, sql, service), None)
        return last["fields"] if last is not None and last["event"] == "advice" else None

    def spending(self, service: str, since_s: float, until_s: float) -> Spending:
        """What a service's windows between two times have shown; of one that lies across an end, the part within.

        Rows of the same time, made of several windows, are no longer than an hour.
        """
        sql = f"""
            SELECT total(qps * within_s), total(qps * over_share * within_s), total(within_s) FROM (
              SELECT qps, over_share, max(min(start_s + duration_s, ?3) - max(start_s, ?2), 0) AS within_s FROM window
              WHERE service = ?1 AND start_s < ?3 AND {SOUND_WINDOW} AND start_s >= min(?2 - 3600,
                (SELECT coalesce(max(start_s), ?2) FROM window WHERE service = ?1 AND start_s <= ?2)))
        """  # noqa: S608 -- our own words
        self._say_damaged_windows(service, since_s - 3600, until_s)
        return Spending(*self._query(sql, service, since_s, until_s)[0])

    def forget(self, service: str) -> int:
        """Removes what settings of a service have measured; how many observations. Its windows and searches stay."""
        return len(self._query("DELETE FROM observation WHERE service = ? RETURNING id", service))

    def history(self, service: str, *, knobs: Collection[str], quantities: Collection[str]) -> History:
        """What is known of a service; what is added to it is remembered.

        The file may have named others before; what was learned of those stays, for when it does again.

        Args:
            service: Its name.
            knobs: Ids of what is searched.
            quantities: What a window must have shown; one that was cut short shows what it can.
        """
        self._tidy(service)
        rows = self._query(ROWS, service)
        fitting = observations(rows, self.path, knobs=knobs, quantities=quantities, on_damage=self._say_once)
        return History(known=fitting, on_add=lambda observation: self.add_observation(service, observation))

    def _tidy(self, service: str) -> None:
        oldest = "SELECT id FROM observation WHERE service = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2"
        self._query(f"DELETE FROM observation WHERE service = ?1 AND id <= ({oldest})", service, MOST)  # noqa: S608

    def _insert(self, table: str, **values: object) -> None:
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        self._query(f"INSERT INTO {table} ({names}) VALUES ({marks})", *values.values())  # noqa: S608 -- our own names

    def _sound(self, kind: type[T], sql: str, *values: object) -> Iterator[T]:
        return sound(self._query(sql, *values), kind, self.path, self._say_once)

    def _say_damaged_windows(self, service: str, since_s: float, until_s: float) -> None:
        """Sums leave damaged rows out themselves."""
        for _ in self._sound(Summed, DAMAGED_WINDOWS, service, since_s, until_s):
            pass

    def _say_ahead(self, service: str, now_s: float) -> None:
        """What a clock that was wrong has dated later than now is left out: it would count until that time has come."""
        for table, time_s, of in _DATED:
            # A time that is none is no earlier one.
            ahead = f"({time_s} > ?2 OR {time_s} IS NULL)"
            sql = f"SELECT 1 FROM {table} WHERE service = ?1 AND {of} AND {ahead} LIMIT 1"  # noqa: S608
            if self._query(sql, service, now_s):
                row = f"{self.path} has a row of {table} for {service} that lies ahead"
                delete = f"sqlite3 {self.path} 'DELETE FROM {table} WHERE {time_s} > unixepoch()'"  # noqa: S608
                self._say_once(
                    StateError(
                        wrong=f"{row}: a clock was wrong then, or is now; it is left out",
                        place=str(self.path),
                        hint=f"where the clock is right now: {delete}",
                    )
                )

    def _say(self, error: StateError) -> None:
        self.on_damage(error)

    def _say_once(self, error: StateError) -> None:
        if error.message not in self._damaged:
            self._say(error)
            self._damaged.add(error.message)

    def _query(self, sql: str, *values: object) -> list[Any]:
        return self._database.query(sql, *values)


def _json(value: Mapping[str, object]) -> str:
    return json.dumps(dict(value), allow_nan=False)
