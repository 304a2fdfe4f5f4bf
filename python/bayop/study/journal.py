"""The trials of a campaign that is under way, each on disk before the next begins.

A journal stands beside the study that it becomes: `sweep.parquet.journal`, one JSON object a trial and line. A line is
on disk when `append` returns, so that a crash at any moment loses at most the trial in flight.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

import polars as pl

from bayop.errors import InputError, unwritable
from bayop.files import sync_folder
from bayop.json_text import parse_object
from bayop.study.check import at_lines, at_rows, check_study
from bayop.study.merge import merge_studies
from bayop.study.store import open_study, write_study, writer_of
from bayop.study.trial import frame_of

SUFFIX: Final = ".journal"
_TIME: Final = "started_at"


class Journal:
    """The journal beside one study; it is made when there is none, and taken up again when there is one.

    Args:
        study: The study that it becomes.

    Attributes:
        path: The journal.
        torn_bytes: Length of the last line that a crash had cut off, and that was dropped; 0 after an orderly end.

    Raises:
        InputError: the study's suffix is none, the file can't be written or is no journal, or another process has it.
    """

    def __init__(self, study: Path) -> None:
        writer_of(study)
        self._study = study
        self.path = study.with_name(study.name + SUFFIX)
        self._file = self._opened()
        try:
            content = self._file.read()
            whole = content.rfind(b"\n") + 1
            self.torn_bytes = len(content) - whole
            lines = content[:whole].split(b"\n")[:-1]
            self._rows = [_parsed(line, self.path, i) for i, line in enumerate(lines, start=1)]
            if self._rows:
                where = at_lines(self.path, range(1, len(lines) + 1))
                check_study(frame_of(self._rows, where), where)
            self._identities = {_identity(row) for row in self._rows}
            # What a crash left half-written must not become the beginning of the next line.
            self._file.truncate(whole)
            self._file.seek(whole)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Lets go of the file, which stays."""
        self._file.close()

    def rows(self) -> list[dict[str, object]]:
        """Every trial so far, in the order in which they ended."""
        return list(self._rows)

    def append(self, row: Mapping[str, object]) -> None:
        """Adds a trial; it is on disk when this returns.

        Raises:
            InputError: it is no row of a study, or the disk does not take it.
        """
        where = at_rows(f"trial {row.get('trial')}")
        check_study(frame_of([row], where), where)
        if _identity(row) in self._identities:
            raise InputError("a study must have each trial once", value=row["trial"], place=str(self.path))
        plain = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in row.items()}
        try:
            self._file.write(json.dumps(plain, allow_nan=False).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            # What is left in the buffer would fail once more whenever it is closed.
            with suppress(OSError):
                self._file.close()
            raise unwritable(self.path, error) from error
        self._rows.append(dict(row))
        self._identities.add(_identity(row))

    def frame(self) -> pl.DataFrame | None:
        """All trials of the study, those of the file that is there already among them; None when there are none.

        Raises:
            InputError: the file is no study, or tells something else of the same trials.
        """
        frames = [open_study(self._study)] if self._study.exists() else []
        if self._rows:
            frames.append(frame_of(self._rows, at_rows(self.path)))
        return merge_studies(frames) if frames else None

    def finish(self) -> None:
        """Writes the study with all trials, then removes the journal.

        A crash in between leaves both, which say the same.

        Raises:
            InputError: as `frame`, or the study can't be written.
        """
        frame = self.frame()
        if frame is not None:
            write_study(frame, self._study)
        self.path.unlink()
        self._file.close()

    def _opened(self) -> IO[bytes]:
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            file = os.fdopen(descriptor, "r+b")
        except (OSError, ValueError) as error:
            raise unwritable(self._study, error) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            sync_folder(self.path.parent)
        except OSError as error:
            file.close()
            hint = "another campaign is under way that writes the same study"
            raise InputError(
                "a journal must have one writer",
                wrong=f"somebody else writes {self.path}",
                value=str(self.path),
                hint=hint,
            ) from error
        return file


def _identity(row: Mapping[str, object]) -> tuple[object, object]:
    return row["study"], row["trial"]


def _parsed(line: bytes, path: Path, number: int) -> dict[str, object]:
    try:
        row = parse_object(line)
        if row.get(_TIME) is not None:
            row[_TIME] = datetime.fromisoformat(row[_TIME])
    except (InputError, ValueError, TypeError) as error:
        place = f"{path}, line {number}"
        raise InputError(
            "a journal must have one JSON object a line",
            wrong="the line is no JSON object",
            place=place,
            hint=str(error),
        ) from error
    return row
