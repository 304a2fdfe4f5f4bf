"""What benchmarks have in common as commands: their flags, and rows that come one by one until they are results."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from bench.results import write_results
from rich.console import Console

from bayop.cli import report_error
from bayop.errors import BayopError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

R = TypeVar("R", bound="DataclassInstance")


def flags_of(module: str, says: str | None) -> argparse.ArgumentParser:
    """The flags of a benchmark, `--out` so far.

    Args:
        module: What runs, such as `bench.hold.run`.
        says: Its docstring.
    """
    flags = argparse.ArgumentParser(
        prog=f"python -m {module}", description=says, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    flags.add_argument("--out", type=Path, metavar="FOLDER", help="default: results/<date>-<kind of machine>")
    return flags


def collect(
    module: str,
    arguments: Sequence[str],
    measured: Iterable[R],
    *,
    say: Callable[[R], str],
    table: Callable[[Sequence[R]], str],
    out: Path | None,
) -> int:
    """Tells of each row as it comes, and writes all of them, or says why there are no more.

    Args:
        module: What runs.
        arguments: With these.
        measured: The rows.
        say: What people are told of one.
        table: The summary.
        out: As of `write_results`.

    Returns:
        The exit code.
    """
    console = Console(stderr=True, highlight=False)
    rows = []
    try:
        for row in measured:
            rows.append(row)
            console.print(say(row))
    except BayopError as error:
        report_error(error)
        return error.exit_code
    write_results(module, arguments, {"raw": rows}, table(rows), out=out, console=console)
    return 0
