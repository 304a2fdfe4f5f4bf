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
    """Writes a folder of results, and says where.

    Args:
        module: What ran, such as `bench.hold.run`.
        arguments: With these.
        tables: Rows of each CSV file, by its name without the suffix.
        summary: Markdown.
        out: The folder; None for one of today's beside the module.
        console: Where people are told.
    """
    if out is None:
        _, *folders, _ = module.split(".")
        out = environment.results_folder(Path(__file__).parent.joinpath(*folders, "results"))
    environment.write(out, module, arguments)
    for name, rows in tables.items():
        write_rows(out / f"{name}.csv", rows)
    (out / "summary.md").write_text(summary, encoding="utf-8")
    sys.stdout.write(summary)
    console.print(f"written to {out}")


def tell_summary(module: str, summary: object, out: Path | None) -> Path | None:
    """Prints a summary as JSON, and writes it and env.json into a folder of today's in `out`.

    Args:
        module: What ran, with the arguments of this process.
        summary: What JSON can say.
        out: The folder of results; None where nothing is written.

    Returns:
        The folder of today's, for whatever else belongs there.
    """
    text = f"{json.dumps(summary, indent=2)}\n"
    sys.stdout.write(text)
    if out is None:
        return None
    folder = environment.results_folder(out)
    environment.write(folder, module, sys.argv[1:])
    (folder / "summary.json").write_text(text, encoding="utf-8")
    return folder
