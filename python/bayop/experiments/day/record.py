"""What a day's experiment leaves behind: plain data that goes to JSON and back, and that reports are drawn from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, cast

import msgspec

from bayop.control.ledger import Ledger, LedgerWindow, Search
from bayop.errors import InputError, unreadable
from bayop.slo import Slo
from bayop.space import Setting, plain_setting

Kind = Literal["default", "search", "bound"]


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """One trial of a search, as much of it as a report needs; None is what a window that was cut short did not show."""

    setting: Setting
    power_w: float | None
    latency_us: float | None
    meets_slo: bool


@dataclass(frozen=True, slots=True)
class SearchRecord:
    """One search: when, why, at which load, its trials, and what it found (None: nothing meets the SLO)."""

    number: int
    reason: str
    start_s: float
    end_s: float
    qps: float
    stopped: str
    setting: Setting | None
    trials: tuple[TrialRecord, ...]

    @classmethod
    def of(cls, search: Search, slo: Slo) -> SearchRecord:
        """The record of a controller's search."""
        trials = tuple(
            TrialRecord(
                dict(t.setting),
                t.measurement.get("power_w"),
                t.measurement.get(slo.quantity),
                t.meets_slo,
            )
            for t in search.trials
        )
        return cls(
            number=search.number,
            reason=search.reason,
            start_s=search.start_s,
            end_s=search.end_s,
            qps=search.qps,
            stopped=search.stopped,
            setting=plain_setting(search.setting),
            trials=trials,
        )


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One configuration's day.

    Attributes:
        id: Stable name for programs: `bayop-linux`.
        label: Name for people: `BayOp on Linux`.
        os: The operating system that it ran on.
        kind: `default`, `search` (a controller) or `bound` (the best static setting of every hour).
        windows: The whole day without gap.
        searches: Empty unless a controller searched.
    """

    id: str
    label: str
    os: str
    kind: Kind
    windows: tuple[LedgerWindow, ...]
    searches: tuple[SearchRecord, ...] = ()

    @property
    def ledger(self) -> Ledger:
        """The windows as books that can be summed up."""
        return Ledger(list(self.windows))

    @property
    def trials(self) -> int:
        """Trials of all searches."""
        return sum(len(search.trials) for search in self.searches)


@dataclass(frozen=True, slots=True)
class MapRecord:
    """An exhaustive sweep at one hour's load: rows are interrupt delays, columns are frequencies.

    Attributes:
        best: The best setting of the hardware's whole lattice, None when none meets the SLO.
    """

    os: str
    hour: int
    qps: float
    rx_usecs: tuple[float, ...]
    freq_mhz: tuple[float, ...]
    power_w: tuple[tuple[float, ...], ...]
    latency_us: tuple[tuple[float, ...], ...]
    best: Setting | None


@dataclass(frozen=True, slots=True)
class DayRecord:
    """A day's experiment.

    Attributes:
        app: The service: `memcached`, `silo`.
        slo: The latency objective as people write it.
        objective: What was minimised.
        trigger: What started searches.
        curve: Where the shape of the load comes from.
        seed: Seed of everything random.
        hourly_qps: Offered load in each hour.
        server: What was measured, for people.
        runs: The configurations; the first is the operating system left alone.
        maps: Exhaustive sweeps, by operating system and hour.
    """

    app: str
    slo: str
    objective: str
    trigger: str
    curve: str
    seed: int
    hourly_qps: tuple[float, ...]
    server: str
    runs: tuple[RunRecord, ...]
    maps: tuple[MapRecord, ...]

    def run(self, run_id: str) -> RunRecord | None:
        """The configuration `run_id`, or None when it was left out."""
        return next((run for run in self.runs if run.id == run_id), None)

    def bound_of(self, os: str) -> RunRecord | None:
        """The bound on one operating system."""
        return next((run for run in self.runs if run.kind == "bound" and run.os == os), None)

    def map_at(self, os: str, hour: int) -> MapRecord | None:
        """The sweep at one hour's load."""
        return next((m for m in self.maps if m.os == os and m.hour == hour), None)

    def to_json(self) -> dict[str, object]:
        """JSON-ready data with nine significant digits."""
        return cast("dict[str, object]", _rounded(asdict(self)))


def read_day(path: Path) -> DayRecord:
    """Reads `data.json` of an earlier experiment.

    Raises:
        InputError: the file can't be read or is no record of a day.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=DayRecord)
    except OSError as error:
        raise unreadable(path, error) from error
    except (ValueError, RecursionError) as error:
        raise InputError(wrong=f"{path} is no record of a day: {error}", value=str(path)) from error


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, Mapping):
        return {k: _rounded(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(v) for v in value]
    return value
