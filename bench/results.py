"""What a benchmark leaves behind: env.json, its tables as CSV files, and a summary, which is printed too."""

from __future__ import annotations

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
