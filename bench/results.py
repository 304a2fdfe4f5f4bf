"""What a benchmark leaves behind: env.json, its tables as CSV files, and a summary, which is printed too."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench import environment
from bench.rows import write_rows
from rich.console import Console

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def write_results(
    module: str,
    arguments: Sequence[str],
    tables: Mapping[str, Sequence[DataclassInstance]],
    summary: str,
    *,
    out: Path | None,
    console: Console,
) -> None:
    """Writes a folder of results, prints the summary, and says where all is.

    Args:
        module: What ran, such as `bench.hold.run`.
        arguments: With these.
        tables: Rows of each CSV file, by its name without the suffix.
        summary: Markdown.
        out: The folder; None for one of today's beside the module.
        console: Where people are told.
    """
    folder = write_folder(module, arguments, tables, summary, out=out)
    sys.stdout.write(summary)
    console.print(f"written to {folder}")


def write_folder(
    module: str,
    arguments: Sequence[str],
    tables: Mapping[str, Sequence[DataclassInstance]],
    summary: str,
    *,
    out: Path | None,
) -> Path:
    """Writes a folder of results as `write_results` does, and tells nobody; where that is."""
    if out is None:
        _, *folders, _ = module.split(".")
        out = environment.results_folder(Path(__file__).parent.joinpath(*folders, "results"))
    environment.write(out, module, arguments)
    for name, rows in tables.items():
        write_rows(out / f"{name}.csv", rows)
    (out / "summary.md").write_text(summary, encoding="utf-8")
    return out


def tell_summary(module: str, summary: object, out: Path | None) -> Path | None:
    """Prints a summary as JSON, and writes it as `write_summary` does, unless `out` is None."""
    sys.stdout.write(_json(summary))
    return None if out is None else write_summary(module, summary, out)


def write_summary(module: str, summary: object, out: Path) -> Path:
    """Writes a summary and env.json into a folder of today's.

    Args:
        module: What ran, with the arguments of this process.
        summary: What JSON can say.
        out: The folder of results.

    Returns:
        The folder of today's, for whatever else belongs there.
    """
    folder = environment.results_folder(out)
    environment.write(folder, module, sys.argv[1:])
    (folder / "summary.json").write_text(_json(summary), encoding="utf-8")
    return folder


def _json(summary: object) -> str:
    return f"{json.dumps(summary, indent=2)}\n"
