"""What is remembered, to be read by people and programs, also while `bayop run` writes it."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypedDict
from urllib.parse import quote

import msgspec

from bayop.control.history import History
from bayop.errors import InputError, reason, unreadable
from bayop.files import check_writable
from bayop.json_text import decoder
from bayop.state.damage import raise_damage, rescue
from bayop.state.learned import ROWS, observations
from bayop.state.schema import VERSION, check, is_older, version_of

Table = Literal["search", "window", "event"]

_Time = Annotated[float, msgspec.Meta(ge=0, le=253_402_300_799)]
"""In s since 1970, up to the year 9999."""

_Number = Annotated[float, msgspec.Meta(ge=-1e300, le=1e300)]
_Setting = dict[str, _Number | str] | None


class _Search(TypedDict):
    service: str
    number: int
    reason: str
    start_s: _Time
    end_s: _Time
    qps: _Number
    trials: int
    stopped: str
    setting: _Setting


class _Window(TypedDict):
    service: str
    start_s: _Time
    duration_s: _Number
    phase: str
    setting: _Setting
    qps: _Number
    power_w: _Number | None
    latency_us: _Number | None
    over_share: _Number
    meets_slo: bool
    search: int | None
    cut_short: str | None
    grain_s: int


class _Event(TypedDict):
    time_s: _Time
    service: str | None
    event: str
    fields: dict[str, Any]


_KINDS: Final[dict[Table, type]] = {"search": _Search, "window": _Window, "event": _Event}
_ORDER: Final[dict[Table, str]] = {"search": "end_s", "window": "start_s", "event": "time_s"}


def read(
    path: Path,
    table: Table,
    *,
    service: str | None = None,
    phase: str | None = None,
    last: int = 100,
    on_damage: Callable[[InputError], object] = raise_damage,
) -> list[dict[str, Any]]:
    """The last rows of a table, oldest first, each a dictionary of its columns.

    Args:
        path: The file.
        table: Which table.
        service: Whose rows; None for all.
        phase: Windows of which phase; None for any.
        last: How many at most.
        on_damage: Called with what is wrong with each row that is left out because it is damaged.

    Raises:
        InputError: the file can't be read, is no state, or, unless somebody listens, has a row that is damaged.
    """
    column = _ORDER[table]
    given = {"service": service, "phase": phase}
    wanted = " AND ".join(f"{name} = :{name}" for name, value in given.items() if value is not None)
    where = f"WHERE {wanted}" if wanted else ""
    sql = f"SELECT * FROM {table} {where} ORDER BY {column} DESC, id DESC LIMIT :last"  # noqa: S608 -- our own names
    with opened(path) as database:
        rows = database.execute(sql, {**given, "last": last}).fetchall()
    plain = []
    for row in reversed(rows):
        try:
            plain.append(_plain(path, table, row))
        except InputError as error:
            on_damage(error)
    return plain


def services(path: Path) -> list[str]:
    """Of which services anything is remembered.

    Raises:
        InputError: the file can't be read, or is no state.
    """
    sql = " UNION ".join(f"SELECT service FROM {table} WHERE service IS NOT NULL" for table in _KINDS)  # noqa: S608
    with opened(path) as database:
        return [row["service"] for row in database.execute(f"{sql} ORDER BY service")]


def columns(table: Table) -> tuple[str, ...]:
    """The names of what each row of a table has."""
    return tuple(_KINDS[table].__annotations__)


def known(path: Path, service: str, *, knobs: Collection[str], quantities: Collection[str]) -> History:
    """What settings of a service have measured; nothing where there is no file yet. What is added stays here.

    Args:
        path: The file.
        service: Whose settings.
        knobs: Ids of what is searched.
        quantities: What a window must have shown.

    Raises:
        InputError: the file can't be read, or is no state.
        StateError: a row is damaged.
    """
    if not path.exists():
        return History()
    with opened(path, older=True) as database:
        rows = database.execute(ROWS, (service,)).fetchall() if version_of(database) else []
    return History(known=observations(rows, path, knobs=knobs, quantities=quantities, on_damage=raise_damage))


def state_file(path: Path) -> Path:
    """The path, where it may be that of a state.

    Raises:
        InputError: it is that of something else, such as a folder or a pipe, or no file can have it.
    """
    rule = "a state must be a file"
    try:
        mode = path.stat().st_mode
    except OSError:
        return path  # it is not there yet, or whoever opens it says why that can't be
    except ValueError as error:
        raise InputError(rule, wrong=f"none can be named {str(path)!r}") from error
    if not stat.S_ISREG(mode):
        raise InputError(rule, wrong=f"{path} is {'a folder' if stat.S_ISDIR(mode) else 'no regular file'}")
    return path


def written(path: Path) -> Path:
    """The path of a state that `bayop run` has begun to write.

    Raises:
        InputError: it has not, or the file is something else.
    """
    try:
        state_file(path).stat()
    except FileNotFoundError as error:
        raise InputError(wrong=f"bayop run has remembered nothing yet: there is no {path}", place=str(path)) from error
    except OSError as error:
        raise unreadable(path, error) from error
    return path


def check_name(path: Path) -> None:
    """Refuses a state of several names (hard links): SQLite keeps files beside each of them, and so does its lock.

    Raises:
        InputError: it has.
    """
    with suppress(OSError):  # it is not there yet, or whoever opens it says why that can't be
        if (links := path.stat().st_nlink) > 1:
            raise InputError(
                "a state must have one name",
                wrong=f"{path} has {links} (hard links)",
                place=str(path),
                hint=f"have it copied: cp {path} {path}.new && mv {path}.new {path}",
            )


def check_state(path: Path) -> str | None:
    """Whether `bayop run` can keep its state there; what it would do with an older one. Writes nothing.

    Raises:
        InputError: the file is something else or damaged, or it or a file beside it can't be written.
    """
    check_writable(path)
    real = path.resolve()  # beside which SQLite keeps its files, and we the lock
    for suffix in ("", "-wal", "-shm", ".lock"):
        check_writable(real.with_name(f"{real.name}{suffix}"))
    check_name(path)
    if path.exists():
        with opened(path, older=True) as database:
            ((found,),) = database.execute("PRAGMA quick_check(1)").fetchall()
            if found != "ok":
                wrong = f"{path} is damaged: {' '.join(found.split())}"
                raise InputError(wrong=wrong, place=str(path), hint=rescue(path))
            if 0 < (version := version_of(database)) < VERSION:
                return f"{path} is of version {version}: bayop run brings it up to version {VERSION}"
    return None


@contextmanager
def opened(path: Path, *, older: bool = False) -> Iterator[sqlite3.Connection]:
    """A state, to be read.

    Args:
        path: The file.
        older: Whether an empty one, or one of an older version, will do.

    Raises:
        InputError: the file can't be read, or is no state.
    """
    written(path)
    try:
        with closing(_connected(path)) as database:
            if not (older and is_older(database)):
                check(database, path)
            yield database
    except sqlite3.Error as error:
        hint = None if isinstance(error, sqlite3.OperationalError) else rescue(path)
        raise InputError(wrong=f"cannot read {path}: {reason(error)}", place=str(path), hint=hint) from error


def _connected(path: Path) -> sqlite3.Connection:
    """A file, as SQLite reads it where it may make files beside it; where it may not, one that was closed as it is.

    Raises:
        InputError: not all of it is in the file.
        sqlite3.Error: it can't be read.
    """
    uri = f"file:{quote(str(path))}?mode=ro"
    database = sqlite3.connect(uri, uri=True)
    try:
        version_of(database)
    except sqlite3.OperationalError as error:
        database.close()
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
        log = Path(f"{path.resolve()}-wal")
        if log.exists() and log.stat().st_size:
            raise InputError(
                wrong=f"cannot read {path} here: its newest rows are in {log.name}",
                place=str(path),
                hint="copy both to a folder that you may write",
            ) from error
        database = sqlite3.connect(f"{uri}&immutable=1", uri=True)
    database.row_factory = sqlite3.Row
    return database


def _plain(path: Path, table: Table, row: sqlite3.Row) -> dict[str, Any]:
    """A row with its JSON read, its truth values as such, and without its number."""
    values = {name: row[name] for name in row.keys() if name != "id"}  # noqa: SIM118 -- a Row is no mapping
    try:
        for name in ("setting", "fields"):
            if values.get(name) is not None:
                values[name] = msgspec.json.decode(values[name])
        if values.get("meets_slo") in (0, 1):
            values["meets_slo"] = bool(values["meets_slo"])
        decoder(_KINDS[table])  # has it met the type, which `convert` alone must not do in two threads at once
        return dict(msgspec.convert(values, _KINDS[table]))
    except (ValueError, RecursionError) as error:
        wrong = f"cannot read {path}: the {table} with id {row['id']} is damaged: {error}"
        hint = f"without it all is well: sqlite3 {path} 'DELETE FROM {table} WHERE id = {row['id']}'"  # noqa: S608
        raise InputError(wrong=wrong, place=str(path), hint=hint) from error
