"""What a study's columns are called, hold and mean: the one declaration that reading, checking and the docs use.

A study is a table of trials, one a row. A column that is absent was never sensed; a null was not measured in this row,
or is a knob that was left to the operating system. Every name carries its unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, TypeAlias

from bayop.catalogue import knob_entry, knob_ids
from bayop.errors import InputError, guess
from bayop.slo import quantile_of
from bayop.space import DEFER_HARD_IRQS, QUEUES, RX_FRAMES

VERSION: Final = "1"
"""Version of this schema; a Parquet file says which one it follows."""

Kind: TypeAlias = Literal["text", "integer", "number", "time"]
"""How cells are stored: UTF-8, 64-bit integer, 64-bit float, microseconds since 1970 in UTC."""

ASKED: Final = "asked."
EFFECTIVE: Final = "effective."
RELATIVE_SD: Final = "relative_sd."


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        name: Its name; the last word is its unit where it has one.
        kind: How cells are stored.
        unit: The unit, for people; empty when there is none.
        meaning: What it says, in one phrase.
        low: The least plausible value; a number below it is in another unit.
        high: The greatest plausible value.
        required: Whether every trial has it.
        measured: Whether it is a quantity of `Measurement`.
        words: The texts that it may hold; empty where any will do.
    """

    name: str
    kind: Kind
    unit: str
    meaning: str
    low: float = -1e300
    high: float = 1e300
    required: bool = False
    measured: bool = False
    words: tuple[str, ...] = ()


def _text(name: str, meaning: str, *, required: bool = False) -> Column:
    return Column(name, "text", "", meaning, required=required)


def _word(name: str, meaning: str, words: tuple[str, ...], *, required: bool = False) -> Column:
    return Column(name, "text", "", f"{meaning}: {either(words)}", required=required, words=words)


def either(words: tuple[str, ...]) -> str:
    """The words as alternatives in a sentence."""
    return " or ".join([", ".join(words[:-1]), words[-1]])


def _measured(name: str, unit: str, low: float, high: float, meaning: str) -> Column:
    return Column(name, "number", unit, meaning, low, high, measured=True)


def _counted(*names_and_meanings: str) -> tuple[Column, ...]:
    return tuple(
        _measured(name, "count", 0.0, 1e18, meaning)
        for name, _, meaning in (each.partition(": ") for each in names_and_meanings)
    )


_PROVENANCE: Final = (
    _text("study", "name of the campaign", required=True),
    Column("trial", "integer", "", "number of the trial, unique within its study", 0, 2**62, required=True),
    Column("repeat", "integer", "", "which repeat of its setting it is", 0, 2**31),
    _word("target", "what was tuned", ("twin", "study", "agent", "live", "published"), required=True),
    _text("machine", "profile or host that served", required=True),
    _text("machine_fingerprint", "short SHA-256 of the profile's text, or of what the agent says of its machine"),
    _text("os", "operating system of the server"),
    _text("app", "the service"),
    Column("qps_offered", "number", "requests/s", "offered load of an open loop", 1e-3, 1e9),
    Column("message_bytes", "integer", "B", "message size of a closed loop", 1, 2**40),
    Column("seed", "integer", "", "seed of everything random in the trial", 0, 2**63 - 1),
    _text("bayop_version", "version that ran it"),
    _word("vantage", "where latency was measured", ("client", "probe", "server+wait", "server", "model")),
    Column("started_at", "time", "UTC", "when the trial began"),
    _text("source", "file, or file:line, that the row was imported from"),
)

_MEASURED: Final = (
    _measured("power_w", "W", 0.01, 20_000.0, "mean power"),
    _measured("energy_j", "J", 0.0, 1e12, "energy of the window"),
    _measured("duration_s", "s", 1e-4, 1e7, "length of the window"),
    _measured("mean_us", "us", 0.01, 3.6e9, "mean latency"),
    _measured("qps", "requests/s", 0.0, 1e9, "requests served"),
    _measured("utilization", "share", 0.0, 1.000001, "time that the cores were not halted"),
    _measured("stolen", "share", 0.0, 1.000001, "time of the cores that the hypervisor gave to others"),
    _measured("interrupts_per_s", "1/s", 0.0, 1e9, "interrupts of the NIC"),
    _measured("net_rx_per_s", "1/s", 0.0, 1e9, "softirqs that poll the NIC"),
    *_counted("instructions: retired instructions", "cycles: unhalted core cycles"),
    *_counted("ref_cycles: unhalted cycles at the rate of the time-stamp counter"),
    *_counted("llc_misses: misses of the last-level cache", "interrupts: interrupts of the NIC"),
    *_counted("rx_descriptors: receive descriptors", "rx_bytes: bytes received by the server"),
    *_counted("tx_descriptors: transmit descriptors", "tx_bytes: bytes sent by the server"),
    *_counted(*(f"c{n}_entries: entries into idle state C{n.upper()}" for n in ("1", "1e", "3", "6", "7"))),
    _measured("energy_window_s", "s", 1e-4, 1e7, "part of the window that energy and counters cover"),
    _measured("mean_freq_mhz", "MHz", 10.0, 10_000.0, "mean frequency while not halted"),
    *_counted("roundtrips: round trips of a closed loop"),
    _measured("roundtrip_us", "us", 0.01, 3.6e9, "mean time of a round trip"),
    _measured("goodput_mibit_s", "Mibit/s", 0.0, 1e6, "payload one way, in 2^20 bit/s"),
)

_REMARKS: Final = (
    _text("cut_short", "why the window ended early"),
    _text("suspect", "why the row is not to be trusted, such as itr_mislabelled"),
)

COLUMNS: Final = (*_PROVENANCE, *_MEASURED, *_REMARKS)
"""Every column of a fixed name; `column_of` knows the patterns as well."""

_BY_NAME: Final = {column.name: column for column in COLUMNS}
REQUIRED: Final = tuple(column.name for column in COLUMNS if column.required)

# Plausible numbers of a knob by its unit; what has none is a count.
_KNOB_RANGES: Final = {"us": (0.0, 1e7), "MHz": (10.0, 10_000.0), "W": (0.1, 20_000.0)}
_COUNTED_KNOBS: Final = (RX_FRAMES, QUEUES, DEFER_HARD_IRQS)
_RESIDENCY: Final = re.compile(r"residency_[a-z0-9_]+")
_OTHER_UNITS: Final = re.compile(r"(?P<stem>.+)_(?:ns|us|usecs|ms|s|khz|mhz|ghz|mw|w|kw|mj|j|kj|kqps|pct|kb|mb)")
LISTING: Final = "bayop study columns says what they hold"
"""What to do about columns that nobody can guess."""

_QUANTILE_IN_ANOTHER_UNIT: Final = re.compile(r"(p\d+|avg|mean)_(?:ns|ms|s)")


@cache
def column_of(name: str) -> Column:
    """The column of that name.

    Besides the fixed names: latency quantiles (`p999_us`), `residency_<idle state>`, `asked.<knob id>` and
    `effective.<knob id>` (with a place where a knob has several: `nic.rx_usecs@eth0`), `relative_sd.<quantity>`.

    Raises:
        InputError: a study has no such column; the hint names the one that may be meant.
    """
    column = _BY_NAME.get(name) or _quantity(name) or _knob(name) or _relative_sd(name)
    if column is None:
        raise InputError("a study's columns must be those of its schema", value=name, hint=_suggestion(name))
    return column


def in_order(names: Iterable[str]) -> list[str]:
    """The names as people look for them: where a trial comes from, its setting, what it measured, remarks.

    Raises:
        InputError: one of them is no column.
    """
    order = list(_BY_NAME)

    def place(name: str) -> tuple[int, float, str]:
        column = column_of(name)
        if column in _PROVENANCE:
            return 0, order.index(name), ""
        if name.startswith((ASKED, EFFECTIVE)):
            return (1 if name.startswith(ASKED) else 2), 0, name
        if name.startswith(RELATIVE_SD):
            return 5, 0, name
        if column in _REMARKS:
            return 6, order.index(name), ""
        return (3, quantile_of(name) or 0.0, name) if name not in order else (4, order.index(name), "")

    return sorted(names, key=place)


def _quantity(name: str) -> Column | None:
    quantile = quantile_of(name)
    if quantile is not None and quantile > 0:
        return _measured(name, "us", 0.01, 3.6e9, f"latency: {100 * quantile:.10g} % of the requests were no slower")
    if _RESIDENCY.fullmatch(name):
        return _measured(name, "share", 0.0, 1.05, "share of all cores' time in an idle state")
    return None


def _knob(name: str) -> Column | None:
    for prefix, meaning in ((ASKED, "what was asked of the knob"), (EFFECTIVE, "what was in effect, as read back")):
        if name.startswith(prefix):
            knob_id, _, place = name.removeprefix(prefix).partition("@")
            entry = knob_entry(knob_id)
            if entry is None or ("@" in name and not place):
                return None
            unit = entry["unit"]
            if unit is None and knob_id not in _COUNTED_KNOBS:
                return _text(name, meaning)
            low, high = _KNOB_RANGES.get(unit or "", (0.0, 2.0**31))
            return Column(name, "number", unit or "count", meaning, low, high)
    return None


def _relative_sd(name: str) -> Column | None:
    if not name.startswith(RELATIVE_SD):
        return None
    of = name.removeprefix(RELATIVE_SD)
    measured = _BY_NAME.get(of) or _quantity(of)
    if measured is None or not measured.measured:
        return None
    return Column(name, "number", "share", f"relative standard deviation of {of}", 0.0, 1000.0)


_QUANTILE_WITH_POINT: Final = re.compile(r"p([0-9]{2})[._]([0-9]+)_us")
_ALIASES: Final = {"rps": "qps_offered", "load": "qps_offered", "watts": "power_w", "joules": "energy_j"}
"""What other tables call it."""


def _suggestion(name: str) -> str:
    if match := _QUANTILE_IN_ANOTHER_UNIT.fullmatch(name):
        stem = "mean" if match[1] == "avg" else match[1]
        return f"convert it to us and name it {stem}_us"
    if match := _QUANTILE_WITH_POINT.fullmatch(name):
        return f"name it p{match[1]}{match[2]}_us"
    if alias := _ALIASES.get(name.lower()):
        return f"name it {alias}, if it is that"
    known = [knob_id for knob_id in knob_ids() if name in (knob_id, knob_id.partition(".")[2])]
    if known:
        return f"name it {ASKED}{known[0]}, if that was asked of the knob"
    prefix = next((p for p in (ASKED, EFFECTIVE) if name.startswith(p)), "")
    names = [prefix + knob_id for knob_id in knob_ids()] if prefix else list(_BY_NAME)
    if match := _OTHER_UNITS.fullmatch(name.lower()):
        for other in names:
            its = _OTHER_UNITS.fullmatch(other)
            if its and its["stem"] == match["stem"] and other != name:
                return f"convert it to {column_of(other).unit} and name it {other}"
    return guess(name, [*names, "p50_us", "p99_us"]) or LISTING
