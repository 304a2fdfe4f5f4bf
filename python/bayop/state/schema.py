"""The tables of the state, and which version of them a file has.

Times are seconds since 1970 (UTC); settings and what was measured are JSON; a setting that is null is the default.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from bayop.errors import InputError

VERSION: Final = 1

_TABLES: Final = """
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

_OURS: Final = frozenset(statement.strip() for statement in _TABLES.split(";") if statement.strip())


def prepare(database: sqlite3.Connection, path: Path) -> None:
    """Makes the tables in an empty file.

    Raises:
        InputError: the file has tables of another version, or of another program.
        sqlite3.Error: it can't be read or written.
    """
    if version_of(database) == 0 and not database.execute("SELECT 1 FROM sqlite_master").fetchall():
        database.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT;")
    check(database, path)


def check(database: sqlite3.Connection, path: Path) -> None:
    """Refuses a file without our tables.

    Raises:
        InputError: it has tables of another version, or of another program.
        sqlite3.Error: it can't be read.
    """
    version = version_of(database)
    if version == VERSION and _tables_of(database) >= _OURS:
        return
    if version > VERSION:
        hint = f"it is of version {version}: open it with the bayop that wrote it, or a newer one"
    else:
        hint = "name a file that bayop run has written, or one that is not there yet"
    raise InputError(f"a state must have the tables of version {VERSION}", value=str(path), hint=hint)


def _tables_of(database: sqlite3.Connection) -> set[str]:
    return {sql for (sql,) in database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}


def version_of(database: sqlite3.Connection) -> int:
    """The version of a file's tables; 0 for one that has none of ours."""
    return int(database.execute("PRAGMA user_version").fetchone()[0])
