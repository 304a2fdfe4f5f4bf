"""Descriptions of stacks in files: a TOML file of one's own, or the six published rows."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bayop.carbon.stack import COMPONENTS, Stack
from bayop.errors import InputError, unreadable
from bayop.toml_file import TomlFile, flag, number, text
from bayop.units import parse_quantity

_NETWORK_J_PER_BYTE: Final = 2.7e-6
"""As [C] prints it."""
_EMBODIED: Final = {"cpu": "embodied_cpu_kg", "dram": "embodied_dram_kg", "ssd": "embodied_ssd_kg"}
_NUMBERS: Final = (
    *_EMBODIED.values(), "embodied_charged_kg", "peak_qps", "power_used_in_notebook_w", "power_at_peak_w",
    "grid_gco2_per_kwh", "nic_bytes_per_s",
)  # fmt: skip
_POSITIVE: Final = ("peak_qps", "power_at_peak_w", "grid_gco2_per_kwh")
_LEAST: Final = 1e-9
_TEXTS: Final = ("app", "os", "node")


@dataclass(frozen=True, slots=True)
class Entry:
    """A stack with what only its file knows.

    Attributes:
        stack: The stack.
        grid_g_per_kwh: The grid that the file goes with; None leaves it to the reader.
        notebook_power_w: The power that the authors' notebook has for it, where there is one.
    """

    stack: Stack
    grid_g_per_kwh: float | None = None
    notebook_power_w: float | None = None


def read_stacks(path: Path) -> list[Entry]:
    """The stacks of a file: one of a `.toml`, all rows of a `.csv` in the layout of systor_cci.csv.

    Raises:
        InputError: it is neither, can't be read, or a key or a value is wrong; with file and line.
    """
    if path.suffix == ".toml":
        return [Entry(_read_toml(path))]
    if path.suffix == ".csv":
        return _read_csv(path)
    raise InputError("a stack must be described in a .toml or a .csv", value=str(path))


def _read_toml(path: Path) -> Stack:
    file = TomlFile(path)
    positive = number(_LEAST, 1e15)
    tables: Mapping[str, Mapping[str, Any]] = {
        "work": {"qps": _in("qps"), "power": _in("W")},
        "embodied_kg": dict.fromkeys(COMPONENTS, number(0.0, 1e6)),
        "network": {"bytes_per_s": positive, "uj_per_byte": number(0.0, 1e9)},
    }
    keys: Mapping[str, Any] = {"name": text, "app": text, "reused": flag}
    file.check_tables(tables, keys)
    own, work, embodied, network = (file.read("", keys), *(file.read(name, known) for name, known in tables.items()))
    for table, found, needed in (("", own, ("name", "app")), ("work", work, ("qps", "power"))):
        for key in needed:
            if key not in found:
                raise InputError(wrong=f"the stack has no {f'{table}.' if table else ''}{key}", place=file.place(table))
    if not embodied and not own.get("reused", False):
        hint = "kg CO2e by component, such as cpu = 14.2; or reused = true"
        raise InputError(
            "a stack that is not reused must have embodied_kg",
            wrong="embodied_kg is missing",
            place=file.place(""),
            hint=hint,
        )
    return Stack(
        name=own["name"],
        app=own["app"],
        embodied_kg=embodied,
        reused=own.get("reused", False),
        power_w=work["power"],
        qps=work["qps"],
        network_bytes_per_s=network.get("bytes_per_s", 0.0),
        network_j_per_byte=network.get("uj_per_byte", _NETWORK_J_PER_BYTE * 1e6) * 1e-6,
    )


def _in(unit: str) -> Any:  # noqa: ANN401 -- a reader of `TomlFile`
    def read(value: object) -> float:
        found = parse_quantity(text(value), unit, unit_required=True)
        if found <= 0.0:
            raise InputError("it must be a number above 0", value=value)
        return found

    return read


def _read_csv(path: Path) -> list[Entry]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            missing = [name for name in (*_TEXTS, *_NUMBERS) if name not in (reader.fieldnames or ())]
            if missing:
                rule = "published stacks must have the columns of systor_cci.csv"
                raise InputError(rule, wrong=f"there is no column {missing[0]}", place=f"{path}:1")
            return [_entry(row, f"{path}:{reader.line_num}") for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise unreadable(path, error) from error


def _entry(row: Mapping[str, str], place: str) -> Entry:
    values = {
        name: _number(row[name], f"{place}, {name}", low=_LEAST if name in _POSITIVE else 0.0) for name in _NUMBERS
    }
    return Entry(
        Stack(
            name=f"{row['os']} on {row['node']}",
            app=row["app"],
            embodied_kg={component: values[column] for component, column in _EMBODIED.items()},
            reused=values["embodied_charged_kg"] == 0.0,
            power_w=values["power_at_peak_w"],
            qps=values["peak_qps"],
            network_bytes_per_s=values["nic_bytes_per_s"],
            network_j_per_byte=_NETWORK_J_PER_BYTE,
        ),
        grid_g_per_kwh=values["grid_gco2_per_kwh"],
        notebook_power_w=values["power_used_in_notebook_w"],
    )


def _number(cell: str | None, place: str, *, low: float) -> float:
    try:
        return number(low, 1e15)(float(cell or ""))
    except ValueError:
        raise InputError("it must be a number", value=cell, place=place) from None
    except InputError as error:
        raise error.at(place) from error
