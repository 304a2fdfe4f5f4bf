"""Arguments that the actions of `bayop study` share."""

from __future__ import annotations

import argparse
from pathlib import Path

from bayop.cli.flags import arguments
from bayop.cli.terminal import new_files
from bayop.cli.terminal.output import console, literal, print_json
from bayop.errors import InputError


def add_out(parser: argparse.ArgumentParser) -> None:
    """`--out`."""
    parser.add_argument(
        "--out",
        type=arguments.reader(arguments.path, "--out"),
        required=True,
        metavar="FILE",
        help="where the study goes: .parquet, .csv or .csv.gz; nothing is overwritten",
    )


def check_out(out: Path) -> None:
    """Refuses, before the work, a file that no study may be written to.

    Raises:
        InputError: its suffix is none of a study's, it is there already, or it could not be written.
    """
    from bayop.study.store import writer_of

    try:
        writer_of(out)
    except InputError as error:
        raise error.but(place="--out") from error
    new_files.check_out(out)


def print_written(path: Path, *, trials: int, columns: int, json: bool) -> None:
    """Says what was written."""
    if json:
        print_json({"event": "written", "path": str(path), "trials": trials, "columns": columns})
    else:
        console().print(literal(f"{path}: {trials} trials, {columns} columns"))
