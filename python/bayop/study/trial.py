"""From one trial to its row: what was asked, what was in effect, what was seen, and where all of it comes from."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath
from typing import Final, TypeAlias

import polars as pl

from bayop import __version__
from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.space import AUTO, Setting
from bayop.study.check import DTYPES, NOUNS, Where
from bayop.study.schema import ASKED, EFFECTIVE, RELATIVE_SD, Column, column_of, in_order

Row: TypeAlias = Mapping[str, object]
"""One trial: values by the names of the study's columns. A name that is absent is null."""

_FINGERPRINT_DIGITS: Final = 12
_MOST_INTEGER: Final = 2**63


@dataclass(frozen=True, slots=True)
class Origin:
    """What all trials of one campaign on one machine share.

    Attributes:
        study: Name of the campaign.
        target: The kind of target: `twin`, `study`, `agent`, `live`, or `published` for what others have tuned.
        machine: The profile or the host that serves.
        machine_fingerprint: `fingerprint` of the profile's text, or of what the agent says of its machine.
        os: Operating system of the server.
        app: The service.
        vantage: Where latency is measured: `client`, `probe`, `server+wait`, or `model` for the twin.
    """

    study: str
    target: str
    machine: str
    machine_fingerprint: str | None = None
    os: str | None = None
    app: str | None = None
    vantage: str | None = None

    @classmethod
    def of_twin(cls, study: str, *, profile: str, source: str) -> Origin:
        """The origin of simulated trials.

        Args:
            study: Name of the campaign.
            profile: Text of the profile.
            source: The profile's file, whose name the machine gets.
        """
        tables = tomllib.loads(profile)
        return cls(
            study=study,
            target="twin",
            machine=PurePath(source).name.removesuffix(".toml").replace("_", "-"),
            machine_fingerprint=fingerprint(profile),
            os=str(tables["os"]["name"]).split()[0].lower(),
            app=str(tables["app"]["name"]),
            vantage="model",
        )


def fingerprint(text: str) -> str:
    """The first digits of the SHA-256 of what describes a machine: short, and different for every other machine."""
    return hashlib.sha256(text.encode()).hexdigest()[:_FINGERPRINT_DIGITS]


def trial_row(
    origin: Origin,
    *,
    trial: int,
    asked: Setting,
    effective: Setting,
    measurement: Measurement,
    qps: float | None = None,
    message_bytes: int | None = None,
    repeat: int | None = None,
    seed: int | None = None,
    started_at: datetime | None = None,
) -> dict[str, object]:
    """The row of one trial.

    Args:
        origin: What it shares with the other trials of its campaign.
        trial: Its number, unique within the campaign.
        asked: The setting that was asked for; a knob on `auto` is null.
        effective: The setting that was in effect, as the target said.
        measurement: What its window showed.
        qps: Offered load of an open loop, in requests/s ...
        message_bytes: ... or message size of a closed one.
        repeat: Which repeat of its setting it is.
        seed: Seed of everything random in it.
        started_at: When it began, with its time zone.
    """
    fields: dict[str, object | None] = {
        "study": origin.study,
        "trial": trial,
        "repeat": repeat,
        "target": origin.target,
        "machine": origin.machine,
        "machine_fingerprint": origin.machine_fingerprint,
        "os": origin.os,
        "app": origin.app,
        "qps_offered": qps,
        "message_bytes": message_bytes,
        "seed": seed,
        "bayop_version": __version__,
        "vantage": origin.vantage,
        "started_at": started_at,
        "cut_short": measurement.cut_short,
    }
    row: dict[str, object] = {name: value for name, value in fields.items() if value is not None}
    for prefix, setting in ((ASKED, asked), (EFFECTIVE, effective)):
        row |= {prefix + knob_id: None if value == AUTO else value for knob_id, value in setting.items()}
    row |= measurement.quantities
    return row | {RELATIVE_SD + name: sd for name, sd in measurement.relative_sd.items()}


def frame_of(rows: Iterable[Row], where: Where) -> pl.DataFrame:
    """Rows as a table, with every column that one of them has.

    Raises:
        InputError: a name is no column of a study, or a value is of another kind than its column's.
    """
    table = list(rows)
    try:
        names = in_order({name for row in table for name in row})
    except InputError as error:
        row = next(i for i, row in enumerate(table) if error.value in row)
        raise error.at(where(row, str(error.value))) from error
    return pl.DataFrame([_series(column_of(name), [row.get(name) for row in table], where) for name in names])


def _series(column: Column, values: Sequence[object], where: Where) -> pl.Series:
    for row, value in enumerate(values):
        if value is not None and not _fits(value, column):
            rule = f"{column.name} must be {NOUNS[column.kind]}"
            raise InputError(rule, value=value, place=where(row, column.name))
    return pl.Series(column.name, values, dtype=DTYPES[column.kind])


def _fits(value: object, column: Column) -> bool:
    if column.kind == "time":
        return isinstance(value, datetime) and value.tzinfo is not None
    if column.kind == "integer":
        return isinstance(value, int) and abs(value) < _MOST_INTEGER
    return isinstance(value, str if column.kind == "text" else int | float)
