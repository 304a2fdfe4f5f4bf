"""The tables of the state, and which version of them a file has.

Times are seconds since 1970 (UTC); settings and what was measured are JSON; a setting that is null is the default.
A window's `grain_s` is 0, or how long the time is whose windows of one kind the row stands for (`state/aging.py`).
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Final

from bayop.errors import InputError

VERSION: Final = 2

_FIRST: Final = """
CREATE TABLE observation (id INTEGER PRIMARY KEY, service TEXT, setting TEXT, measured TEXT, relative_sd TEXT,
  cut_short TEXT, qps REAL) STRICT;
CREATE INDEX observation_of ON observation (service, id);
CREATE TABLE window (id INTEGER PRIMARY KEY, service TEXT, start_s REAL, duration_s REAL, phase TEXT, setting TEXT,
  qps REAL, power_w REAL, latency_us REAL, over_share REAL, meets_slo INTEGER, search INTEGER, cut_short TEXT) STRICT;
CREATE INDEX window_of ON window (service, start_s);
CREATE TABLE search (id INTEGER PRIMARY KEY, service TEXT, number INTEGER, reason TEXT, start_s REAL, end_s REAL,
  qps REAL, trials INTEGER, stopped TEXT, setting TEXT) STRICT;
CREATE TABLE event (id INTEGER PRIMARY KEY, time_s REAL, service TEXT, event TEXT, fields TEXT) STRICT;
"""

_SWITCHBACKS: Final = """
CREATE TABLE switchback (id INTEGER PRIMARY KEY, service TEXT NOT NULL, start_s REAL NOT NULL, end_s REAL NOT NULL,
  setting TEXT NOT NULL, pause_s REAL NOT NULL, before_w REAL NOT NULL, default_w REAL NOT NULL,
  after_w REAL NOT NULL) STRICT;
CREATE INDEX switchback_of ON switchback (service, start_s);
"""

_GRAIN: Final = """
ALTER TABLE window ADD COLUMN grain_s INTEGER NOT NULL DEFAULT 0;
"""

_ADDED: Final = {1: _FIRST, 2: _SWITCHBACKS + _GRAIN}
"""What each version has added."""


def prepare(database: sqlite3.Connection, path: Path) -> None:
    """Makes the tables that are missing, in an empty file or in one of an older version.

    Raises:
        InputError: the file has tables of a newer version, or of another program.
        sqlite3.Error: it can't be read or written.
    """
    if is_older(database):
        missing = "".join(tables for since, tables in _ADDED.items() if since > version_of(database))
        database.executescript(f"BEGIN; {missing} PRAGMA user_version = {VERSION}; COMMIT;")
    check(database, path)


def is_older(database: sqlite3.Connection) -> bool:
    """Whether a file is empty, or has the tables of an older version: one that `prepare` brings up to date.

    Raises:
        sqlite3.Error: it can't be read.
    """
    version, tables = version_of(database), _tables_of(database)
    return version < VERSION and tables >= _ours(version) and (version > 0 or not tables)


@cache
def _ours(version: int) -> frozenset[str]:
    """The tables of a version, as SQLite says them after they were made version by version."""
    with closing(sqlite3.connect(":memory:")) as made:
        made.executescript("".join(tables for since, tables in _ADDED.items() if since <= version))
        return frozenset(_tables_of(made))


def check(database: sqlite3.Connection, path: Path) -> None:
    """Refuses a file without our tables.

    Raises:
        InputError: it has tables of another version, or of another program.
        sqlite3.Error: it can't be read.
    """
    version = version_of(database)
    if version == VERSION and _tables_of(database) >= _ours(VERSION):
        return
    if version > VERSION:
        hint = f"it is of version {version}: open it with the bayop that wrote it, or a newer one"
    elif version > 0:
        hint = f"it is of version {version}: a bayop run that opens it brings it up to date"
    else:
        hint = "name a file that bayop run has written, or one that is not there yet"
    raise InputError(f"a state must have the tables of version {VERSION}", value=str(path), hint=hint)


def _tables_of(database: sqlite3.Connection) -> set[str]:
    return {sql for (sql,) in database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}


def version_of(database: sqlite3.Connection) -> int:
    """The version of a file's tables; 0 for one that has none of ours."""
    return int(database.execute("PRAGMA user_version").fetchone()[0])
