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
class Campaign:
    """The runs of one folder.

    Attributes:
        name: Of the campaign: the folder's.
        folder: Where the files are.
        runs: The runs, in the order of their trials.
    """

    name: str
    folder: Path
    runs: Sequence[Run]


def find_campaigns(folders: Iterable[Path], *, ebbrt_app: EbbrtApp | None = None) -> list[Campaign]:
    """What there is to import; nothing is read but the names of files.

    Raises:
        InputError: a folder can't be read, has no name of its own, or has no run or one that is not whole.
    """
    campaigns: list[Campaign] = []
    for folder in folders:
        name = folder.resolve().name
        if not name or not name.isprintable():
            raise InputError("a folder is a campaign, whose name must be one line of text", value=str(folder))
        if name in {campaign.name for campaign in campaigns}:
            raise InputError("a folder is a campaign, and must have a name of its own", value=str(folder))
        try:
            files = [path.name for path in folder.iterdir()]
        except OSError as error:
            is_file = isinstance(error, NotADirectoryError)
            hint = f"bayop study export {folder} --out FILE.parquet reads tables" if is_file else None
            raise unreadable(folder, error).but(hint=hint) from error
        try:
            campaigns.append(Campaign(name, folder, find_runs(files, ebbrt_app=ebbrt_app)))
        except InputError as error:
            raise error.at(str(folder)) from error
    return campaigns


def study_of(
    campaigns: Sequence[Campaign], *, open_log: Callable[[Path], Log], on_log: Callable[[], None]
) -> pl.DataFrame:
    """The study of some campaigns.

    Args:
        campaigns: What to import.
        open_log: Looks into a log, and knows the rates of its machine.
        on_log: Called after each log.

    Raises:
        InputError: with the file: it is not what its name says, or what it tells breaks a rule of the schema.
    """
    from bayop.study.check import check_study
    from bayop.study.trial import frame_of

    rows, files = [], []
    for campaign in campaigns:
        for trial, run in enumerate(campaign.runs, 1):
            fields = trial_of(run, campaign.folder, open_log=open_log, on_log=on_log)
            rows.append({"study": campaign.name, "trial": trial, **fields})
            files.append(campaign.folder / run.client)

    def where(row: int | None, column: str | None) -> str:
        place = "the study" if row is None else f"the run of {files[row]}"
        return place if column is None else f"{place}, column {column}"

    return check_study(frame_of(rows, where), where)
