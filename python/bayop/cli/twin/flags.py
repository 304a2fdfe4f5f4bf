"""Flags and error tables that the actions of `bayop twin` share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bayop.cli.flags import arguments
from bayop.cli.terminal.new_files import create
from bayop.cli.terminal.output import console, new_table
from bayop.errors import InputError
from bayop.experiments.sweep.load import Load
from bayop.units import format_qps, parse_quantity, round_significant

if TYPE_CHECKING:
    from rich.table import Table

    from bayop.twin.validate import Cell, Errors

_MOST_THREADS: Final = 1024
_MOST_MESSAGE_BYTES: Final = 2.0**24


def add_data(parser: argparse._ActionsContainer, *, required: bool = True) -> None:
    """`--data`."""
    parser.add_argument(
        "--data",
        type=arguments.reader(arguments.study_file, "--data"),
        required=required,
        metavar="FILE",
        help="a study, in any format that bayop study show reads",
    )


def add_simulation(parser: argparse.ArgumentParser, *, requests: int) -> None:
    """`--requests`, `--seed` and `--threads`."""
    parser.add_argument(
        "--requests",
        type=arguments.reader(arguments.positive, "--requests"),
        default=requests,
        metavar="N",
        help=f"simulated requests in every window or cell (default: {requests})",
    )
    arguments.add_seed(parser)
    add_threads(parser)


def add_threads(parser: argparse.ArgumentParser) -> None:
    """`--threads`."""
    parser.add_argument(
        "--threads",
        type=arguments.reader(arguments.whole_number(1, _MOST_THREADS), "--threads"),
        default=os.cpu_count() or 1,
        metavar="N",
        help="threads to use; results don't depend on it (default: one a core)",
    )


def message_bytes(text: str) -> float:
    """The message size of a closed loop in bytes: `64`, `64KB` (65,536 B, as NetPIPE has it).

    Raises:
        InputError: no size, or more than the twin takes.
    """
    value = parse_quantity(text, "B")
    if not 1.0 <= value <= _MOST_MESSAGE_BYTES or value % 1:
        raise InputError("a message must have a whole number of bytes, from 1B to 16MiB", value=text)
    return value


def loads(text: str) -> list[Load]:
    """Loads in requests/s, or message sizes with their unit: `200000,600kqps`, `64B,512KB`."""
    return [_load(part.strip()) for part in text.split(",")]


def _load(text: str) -> Load:
    if text.endswith("B"):
        return Load(message_bytes=int(message_bytes(text)))
    return Load(qps=arguments.qps(text))


def _amounts(text: str) -> list[float]:
    """Loads as the cells of a study have them, all of one kind of loop."""
    return [load.amount for load in loads(text)]


def load_text(errors: Errors) -> str:
    """A load for people: `600K` requests/s, `64 B` messages."""
    return f"{errors.load:g} B" if errors.is_closed_loop else format_qps(errors.load)


def add_loads(parser: argparse.ArgumentParser, what: str) -> None:
    """`--loads`."""
    parser.add_argument(
        "--loads",
        type=arguments.reader(_amounts, "--loads"),
        default=[],
        metavar="LOAD,...",
        help=f"{what} (default: all in the file)",
    )


def cells_of(path: Path, *, os: str | None, loads: Sequence[float] = ()) -> list[Cell]:
    """The cells of a study on one operating system (or all) at some loads (or all).

    Raises:
        InputError: the file is no study, or it has no such operating system or load.
    """
    from bayop.twin.validate import read_cells

    cells = read_cells(path)
    systems = sorted({cell.os for cell in cells})
    if os is not None and os not in systems:
        hint = f"it has {', '.join(systems)}"
        raise InputError(wrong=f"the study has no trials of {os}", value=os, place="--os", hint=hint)
    return cells_at([cell for cell in cells if os in (None, cell.os)], loads)


def check_one_system(cells: Sequence[Cell], profile: str) -> None:
    """Refuses cells of several operating systems for one profile.

    Raises:
        InputError: they are.
    """
    if len(systems := sorted({cell.os for cell in cells})) > 1:
        hint = f"say --os ({', '.join(systems)})"
        raise InputError("a profile must be of one operating system", value=profile, place="--profile", hint=hint)


def cells_at(cells: Sequence[Cell], loads: Sequence[float]) -> list[Cell]:
    """Those of the cells that were measured at some loads (or all).

    Raises:
        InputError: nothing was measured at one of the loads.
    """
    from bayop.twin.validate import select_loads

    return arguments.reader(partial(select_loads, cells), "--loads")(loads)


def write_profile(out: Path, text: str) -> None:
    """Writes a profile in a new file.

    Raises:
        InputError: it is there by now, or can't be written.
    """
    arguments.reader(create, "--out")({out: text})


def app_of(path: Path) -> str:
    """The application that a study is about: as its trials say, else as the file's name does (`my_silo.csv`).

    Raises:
        InputError: neither says one that there is a profile for.
    """
    from bayop.study import open_study
    from bayop.twin.profile_library import profile_names

    library = sorted({name.partition("-")[2] for name in profile_names()})
    frame = open_study(path, columns=["app"])
    apps = frame["app"].drop_nulls().unique().to_list() if "app" in frame.columns else []
    matches = [app for app in library if app in (apps or path.stem.lower())]
    if len(matches) != 1:
        hint = f"say --app ({', '.join(library)}) or --profile"
        wrong = (
            f"neither the study nor its file's name says which application was measured: {', '.join(apps) or path.name}"
        )
        raise InputError(wrong=wrong, hint=hint)
    return matches[0]


def fit_event(profile: str, changes: Mapping[str, object], out: Path, *, complete: bool) -> dict[str, object]:
    """What a fit has changed, for programs."""
    return {"event": "fit", "profile": profile, "parameters": changes, "out": str(out), "complete": complete}


def print_end(sweeps: int, *, complete: bool) -> None:
    """Says of a fit that its budget has ended it."""
    if not complete:
        console().print(f"The budget ended before the fit did: more than --sweeps {sweeps} may fit better.")


def errors_event(app: str, errors: Errors, **more: object) -> dict[str, object]:
    """Errors at one load for programs, in per cent; those of the default policy keep their sign."""
    event: dict[str, object] = {
        "event": "errors",
        "app": app,
        "os": errors.os,
        "load": int(errors.load) if float(errors.load).is_integer() else errors.load,
        "cells": errors.cells,
        "mape_pct": _per_cent(errors.mape),
        "mape_all_cells_pct": _per_cent(errors.mape_all),
    }
    if errors.default:
        event["default_error_pct"] = _per_cent(errors.default)
    return event | more


def error_table(rows: Iterable[tuple[str, Errors]]) -> Table:
    """Errors for people: a row of mean absolute errors for every load, one of signed errors for its default policy.

    All rows are of one kind of loop.
    """
    from bayop.twin.validate import CLOSED_LOOP_QUANTITIES, LATENCIES, QUANTITIES, SATURATED

    some = list(rows)
    is_closed = any(errors.is_closed_loop for _, errors in some)
    names, twice = (CLOSED_LOOP_QUANTITIES, ()) if is_closed else (QUANTITIES, LATENCIES)
    note = "" if is_closed else f"p99, p50: cells below {SATURATED:g} utilization; "
    table = new_table(f"{note}default policy: signed errors")
    table.add_column("", no_wrap=True)
    table.add_column("message" if is_closed else "load", justify="right")
    table.add_column("cells", justify="right")
    for name in names:
        table.add_column(_HEADERS[name], justify="right")
    for name in twice:
        table.add_column(f"{_HEADERS[name]} all", justify="right")
    for label, errors in some:
        if errors.cells:
            cells = [f"{e:.1%}" if (e := errors.mape.get(name)) is not None else "-" for name in names]
            cells += [f"{e:.1%}" if (e := errors.mape_all.get(name)) is not None else "-" for name in twice]
            table.add_row(label, load_text(errors), str(errors.cells), *cells)
        if errors.default:
            cells = [f"{e:+.1%}" if (e := errors.default.get(name)) is not None else "-" for name in names]
            table.add_row("  default", load_text(errors), "1", *cells)
    return table


_HEADERS = {
    "power_w": "power",
    "p99_us": "p99",
    "p50_us": "p50",
    "utilization": "util.",
    "interrupts_per_s": "int/s",
    "roundtrip_us": "round trip",
    "energy_j": "energy",
    "instructions": "instr.",
}


def _per_cent(errors: Mapping[str, float]) -> dict[str, float]:
    return {name: round_significant(100.0 * error, 4) for name, error in errors.items()}
