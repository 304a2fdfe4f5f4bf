"""The report of `bayop libos bench`: what a request costs in one HTML file, its figures and its windows beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from bench.libos.costs import Cost, cells, costs, layer_cells
from bench.libos.count import Window
from bench.libos.figures import drawings
from bench.libos.linux import TUNED
from bench.libos.plan import LIBRARY_OS

from bayop.errors import unwritable
from bayop.report.document import row, section, table
from bayop.report.page import experiment_page, write_page
from bayop.report.svg import Drawing

WINDOWS: Final = "windows.jsonl"
_COMPARED: Final = (TUNED, LIBRARY_OS)
_METHOD: Final = (
    "QEMU counts every instruction that an emulated machine of one processor executes, sleeps and wake-ups among them, "
    "while `bayop load` asks its service; Linux runs in the same machine. Numbers are medians over machines, of one "
    f"window each: {WINDOWS}."
)


def write_windows(windows: Sequence[Window], folder: Path) -> None:
    """Writes them into a folder, which it makes, as JSON lines.

    Raises:
        InputError: It can't be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lines = "".join(json.dumps(asdict(window)) + "\n" for window in windows)
        (folder / WINDOWS).write_text(lines, encoding="utf-8")
    except OSError as error:
        raise unwritable(folder, error) from error


def write_report(windows: Sequence[Window], folder: Path, version: str) -> Path:
    """Writes the report, its figures and the windows into a folder, which it makes.

    Returns:
        The HTML file.

    Raises:
        InputError: It can't be written.
    """
    write_windows(windows, folder)
    found = costs(windows)

    def render(drawn: Sequence[Drawing], svgs: Mapping[str, str]) -> str:
        tables = [_table(cells(windows), "All rows")]
        by_layer = layer_cells(windows)
        if len(by_layer) > 1:
            tables.append(_table(by_layer, "Instructions by layer"))
        return experiment_page(
            "What a request costs without an operating system",
            headline(found),
            caveats=["An emulated processor counts instructions, not time."],
            numbers=[],
            parts=[*(section(drawing, svgs[drawing.name]) for drawing in drawn), "<h2>Numbers</h2>", *tables],
            about_method=f"bayop {version}. {_METHOD}",
        )

    return write_page(folder, lambda: drawings(found), render)


def headline(rows: Sequence[Cost]) -> str:
    """The least and the greatest factor over tuned Linux of each service, under the loads that both served."""
    said = []
    for app in dict.fromkeys(cost.app for cost in rows):
        linux, ours = (_by_load([cost for cost in rows if (cost.app, cost.system) == (app, of)]) for of in _COMPARED)
        factors = [linux[load] / ours[load] for load in linux.keys() & ours.keys()]
        if factors:
            times = f"{min(factors):.1f} to {max(factors):.1f}" if len(factors) > 1 else f"{factors[0]:.1f}"
            said.append(f"{app}: tuned Linux takes {times} times the instructions of the library OS.")
    return " ".join(said) or "Instructions a request, by service, system and load."


def _by_load(rows: Sequence[Cost]) -> Mapping[tuple[int, float], float]:
    return {(cost.connections, cost.qps): cost.instructions_per_request for cost in rows}


def _table(cells: Sequence[Sequence[str]], caption: str) -> str:
    header, *rows = cells
    return table(header, [row(first, rest) for first, *rest in rows], caption)
