"""The file of the state as its one writer has it: locked, whole, and opened anew where somebody has touched its log.

SQLite keeps what it has written in a log beside the file (`-wal`) until that is moved there. Whoever removes, replaces
or cuts the log takes rows away without an error: the log that has the name is compared with the one that was last seen.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from os.path import samestat
from pathlib import Path
from typing import IO, Any, Final, Literal

from bayop.errors import InputError, reason, unwritable
from bayop.state.damage import StateError, rescue
from bayop.state.records import check_name
from bayop.state.schema import VERSION, prepare

_BUSY_S: Final = 0.1
"""Nobody else has a reason to write, so that waiting for longer would only keep services from letting go."""


class Database:
    """The file, opened to be written. Safe to use from several threads.

    Args:
        path: The file; it is made when there is none.
        on_touched: Called whenever somebody has touched the log.

    Raises:
        InputError: it can't be written, is no such file, is of another version, or another process writes it.
    """

    def __init__(self, path: Path, *, on_touched: Callable[[StateError], object]) -> None:
        self._path, self._on_touched = path, on_touched
        self._mutex = threading.Lock()
        self._lock = _locked(path)
        self._log = Path(f"{path.resolve()}-wal")
        """What SQLite has written and not moved to the main file yet."""
        self._is_closed = False
        try:
            self._open()
            prepare(self._connection, path)
            # It may be one that we can only read, for which SQLite begins any transaction.
            self._connection.executescript(f"BEGIN IMMEDIATE; PRAGMA user_version = {VERSION}; ROLLBACK;")
            _checkpoint(self._connection)
            self._stat, self._log_stat = path.stat(), self._log.stat()
        except (OSError, sqlite3.Error) as error:
            self._lock.close()
            hint = None if isinstance(error, OSError | sqlite3.OperationalError) else rescue(path)
            raise InputError(wrong=f"cannot open {path}: {reason(error)}", place=str(path), hint=hint) from error
        except BaseException:
            self._lock.close()
            raise

    def close(self) -> None:
        """Lets others write."""
        with self._mutex:
            self._is_closed = True
            self._connection.close()
        self._lock.close()

    def query(self, sql: str, *values: object) -> list[Any]:
        """All rows that a statement gives.

        Raises:
            StateError: it can't be read or written.
        """
        with self.using("read" if sql.lstrip().startswith("SELECT") else "write") as connection:
            return connection.execute(sql, values).fetchall()

    @contextmanager
    def using(self, verb: Literal["read", "write"] = "write") -> Iterator[sqlite3.Connection]:
        """The file, for us alone; `verb` says what can't be done where it fails."""
        try:
            if not samestat(self._stat, self._path.stat()):
                raise StateError(wrong=f"another file took the place of {self._path}", place=str(self._path))
            with self._mutex:
                self._keep_lock()
                is_whole = self._is_closed or self._is_log_whole()
                if not is_whole:
                    self._open_anew()
            if not is_whole:
                self._on_touched(
                    StateError(
                        wrong=f"the -wal of {self._path} is gone, or was replaced or cut, and rows may be lost",
                        place=str(self._path),
                        hint="while bayop run is there, nobody else may touch the files beside its state",
                    )
                )
            with self._mutex:
                yield self._connection
                self._log_stat = self._log.stat()
        except (OSError, sqlite3.Error) as error:
            raise StateError(wrong=f"cannot {verb} {self._path}: {reason(error)}", place=str(self._path)) from error

    def settle(self) -> None:
        """Has all that was written in the main file, if it will: it is on disk in any case."""
        with suppress(StateError), self.using() as connection:
            _checkpoint(connection)

    def _keep_lock(self) -> None:
        """Takes the lock anew where somebody has removed its file: another process could have it otherwise.

        Raises:
            StateError: another process has.
        """
        if self._is_closed or _is_named(self._lock):
            return
        try:
            lock = _locked(self._path)
        except InputError as error:
            raise StateError.of(error) from error
        self._lock.close()
        self._lock = lock

    def _open(self) -> None:
        self._connection = sqlite3.connect(self._path, timeout=_BUSY_S, check_same_thread=False, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute("PRAGMA journal_size_limit = -1")  # nobody but us makes the log shorter
        # What is no UTF-8 is no JSON either, and its row is found damaged.
        self._connection.text_factory = lambda text: text.decode(errors="surrogateescape")

    def _is_log_whole(self) -> bool:
        """Whether the log that has a name is the one that SQLite writes, and at least as long as it was."""
        try:
            log = self._log.stat()
        except FileNotFoundError:
            return False
        return samestat(log, self._log_stat) and log.st_size >= self._log_stat.st_size

    def _open_anew(self) -> None:
        """Has what follows written to a log that is on disk.

        What is in a log without a name only we can still read: it is moved to the main file before we let go of it. Of
        one that was cut it must not be: what is left of that and the main file need not be of one time.

        Raises:
            sqlite3.Error: somebody reads, so that not all can be moved yet.
        """
        is_cut = False
        with suppress(FileNotFoundError):
            if is_cut := samestat(self._log.stat(), self._log_stat):
                os.truncate(self._log, 0)
        if not is_cut and _checkpoint(self._connection):
            raise sqlite3.OperationalError("its -wal was removed while somebody reads it")
        self._connection.close()
        self._open()
        _checkpoint(self._connection)
        self._log_stat = self._log.stat()


def _checkpoint(connection: sqlite3.Connection) -> bool:
    """Moves what is in the log to the main file, and empties the log; whether a reader was in the way."""
    ((is_busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return bool(is_busy)


def _locked(path: Path) -> IO[bytes]:
    """A file beside the state that one process at a time has locked; it ends with the process, however that ends.

    Raises:
        InputError: another process has it, or it can't be made.
    """
    try:
        path = path.resolve()  # one lock for all names of one file
        lock = path.with_name(f"{path.name}.lock")
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from error
    try:
        check_name(path)
        file = lock.open("ab")
    except OSError as error:
        hint = None
        with suppress(OSError):
            if lock.is_file():
                hint = f"it belongs to uid {lock.stat().st_uid}: a bayop run of another user has made it"
        raise unwritable(lock, error).but(hint=hint) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise InputError(
            "one bayop run at a time must have the state",
            wrong=f"another process writes {path}",
            value=str(path),
            hint="end that one, or name another file in state",
        ) from error
    if not _is_named(file):  # somebody has just removed it
        file.close()
        return _locked(path)
    return file


def _is_named(file: IO[bytes]) -> bool:
    """Whether the file that was opened by a name is still the one that has it."""
    try:
        return samestat(os.fstat(file.fileno()), Path(file.name).stat())
    except FileNotFoundError:
        return False
