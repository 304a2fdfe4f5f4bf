"""Folders of raw logs as a study: one campaign a folder, one row a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bayop.errors import InputError, unreadable
from bayop.interrupts.log import Log
from bayop.interrupts.run_trial import trial_of
from bayop.interrupts.runs import EbbrtApp, Run, find_runs

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class LogFolder:
    """The runs of one folder, which is a campaign.

    Attributes:
        name: The folder's, and the campaign's.
        path: Where the files are.
        runs: The runs, in the order of their trials.
    """

    name: str
    path: Path
    runs: Sequence[Run]


def find_log_folders(paths: Iterable[Path], *, ebbrt_app: EbbrtApp | None = None) -> list[LogFolder]:
    """What there is to import; nothing is read but the names of files.

    Raises:
        InputError: a folder can't be read, has no name of its own, or has no run or one that is not whole.
    """
    folders: list[LogFolder] = []
    for path in paths:
        name = path.resolve().name
        if not name or not name.isprintable():
            raise InputError("a folder is a campaign, whose name must be one line of text", value=str(path))
        if name in {folder.name for folder in folders}:
            raise InputError("a folder is a campaign, and must have a name of its own", value=str(path))
        try:
            files = [file.name for file in path.iterdir()]
        except OSError as error:
            is_file = isinstance(error, NotADirectoryError)
            hint = f"bayop study export {path} --out FILE.parquet reads tables" if is_file else None
            raise unreadable(path, error).but(hint=hint) from error
        try:
            folders.append(LogFolder(name, path, find_runs(files, ebbrt_app=ebbrt_app)))
        except InputError as error:
            raise error.at(str(path)) from error
    return folders


def study_of(
    folders: Sequence[LogFolder], *, open_log: Callable[[Path], Log], on_log: Callable[[], None]
) -> pl.DataFrame:
    """The study of some folders.

    Args:
        folders: What to import.
        open_log: Looks into a log, and knows the rates of its machine.
        on_log: Called after each log.

    Raises:
        InputError: with the file: it is not what its name says, or what it tells breaks a rule of the schema.
    """
    from bayop.study.check import check_study
    from bayop.study.trial import frame_of

    rows, files = [], []
    for folder in folders:
        for trial, run in enumerate(folder.runs, 1):
            fields = trial_of(run, folder.path, open_log=open_log, on_log=on_log)
            rows.append({"study": folder.name, "trial": trial, **fields})
            files.append(folder.path / run.client)

    def where(row: int | None, column: str | None) -> str:
        place = "the study" if row is None else f"the run of {files[row]}"
        return place if column is None else f"{place}, column {column}"

    return check_study(frame_of(rows, where), where)
