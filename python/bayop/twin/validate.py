"""How far the twin is from measurements: every measured cell is simulated and compared.

A *cell* is one setting under one load on one operating system; its repeats are reduced to their medians. Errors are
relative to the measurement. Latencies of a server close to saturation are decided by chance (how long a queue happens
to grow within 20 s), so their errors count cells below `SATURATED` utilization; those over all cells stand beside them.

The load of a closed loop is the size of its message. It has no queue, so all its cells count; and what a window adds up
(energy, instructions) is compared for as many round trips as were measured.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from bayop import _core
from bayop.errors import InputError
from bayop.recorded.rows import open_loop_rows
from bayop.space import FREQ_MHZ, RX_USECS
from bayop.study import open_study, trusted
from bayop.study.schema import ASKED
from bayop.twin.windows import combine_batches, simulate, simulation_run

QUANTITIES: Final = ("power_w", "p99_us", "p50_us", "utilization", "interrupts_per_s")
"""What is compared in an open loop."""

CLOSED_LOOP_QUANTITIES: Final = (
    "roundtrip_us",
    "energy_j",
    "power_w",
    "utilization",
    "interrupts_per_s",
    "instructions",
)
"""What is compared in a closed loop."""

SATURATED: Final = 0.85
"""Measured utilization from which latencies say more about chance than about the setting."""

LATENCIES: Final = ("p99_us", "p50_us")
"""The compared quantities that saturation spoils."""

REPEATS: Final = 4
"""Independent windows that stand for the repeats of a measurement."""

_KNOBS: Final = (RX_USECS, FREQ_MHZ)
"""What the twin models of a setting."""

# What a window of a closed loop adds up, round trip by round trip.
_PER_ROUND_TRIP: Final = ("energy_j", "instructions")
# Windows of the default policy are this many times longer: its governors wander for a second or so.
_DEFAULT_WINDOW: Final = 4


@dataclass(frozen=True, slots=True)
class Cell:
    """One measured setting.

    Attributes:
        load: In requests/s; of a closed loop, the size of the message in bytes.
        setting: What was asked for, by knob id; a knob that was left to the operating system is not in it.
        repeats: Trials behind the medians.
        measured: Medians, under the names of `Measurement`.
    """

    os: str
    load: float
    setting: Mapping[str, float]
    repeats: int
    measured: Mapping[str, float]

    @property
    def is_closed_loop(self) -> bool:
        """Whether the load is one message that goes back and forth."""
        return "roundtrip_us" in self.measured

    @property
    def is_default(self) -> bool:
        """Whether the operating system was left alone."""
        return not self.setting

    @property
    def is_saturated(self) -> bool:
        """Whether the server was too close to saturation for its latencies to be predictable."""
        return self.measured.get("utilization", 0.0) >= SATURATED


@dataclass(frozen=True, slots=True)
class Comparison:
    """A cell beside its simulation."""

    cell: Cell
    simulated: Mapping[str, float]

    def error(self, quantity: str) -> float | None:
        """Relative error of the twin, positive where it is too high; None when the quantity was not measured."""
        measured, simulated = self.cell.measured.get(quantity), self.simulated.get(quantity)
        return None if measured is None or simulated is None else simulated / measured - 1.0


@dataclass(frozen=True, slots=True)
class Errors:
    """Errors at one load on one operating system.

    Attributes:
        cells: Number of static cells.
        mape: Mean absolute relative error by quantity, over the static cells; latencies below `SATURATED` only.
        mape_all: The same of the latencies over all static cells, of an open loop.
        default: Signed relative errors of the default policy by quantity; empty when it was not measured.
    """

    os: str
    load: float
    is_closed_loop: bool
    cells: int
    mape: Mapping[str, float]
    mape_all: Mapping[str, float]
    default: Mapping[str, float]


def read_cells(path: Path) -> list[Cell]:
    """The cells of a study that ran without a power cap, in a fixed order.

    Raises:
        InputError: the file is no study.
    """
    groups: dict[tuple[str, float, tuple[float, ...]], list[Cell]] = defaultdict(list)
    for trial in _trials(path):
        if set(trial.setting) <= set(_KNOBS):
            groups[trial.os, trial.load, tuple(trial.setting.get(knob, 0.0) for knob in _KNOBS)].append(trial)
    return [_cell(repeats) for _, repeats in sorted(groups.items())]


def _trials(path: Path) -> list[Cell]:
    frame = trusted(open_study(path))
    if "roundtrip_us" not in frame.columns:
        return [Cell(row.os, row.qps, row.setting, 1, row.quantities) for row in open_loop_rows(frame, path)]
    names = [name for name in (*CLOSED_LOOP_QUANTITIES, "roundtrips") if name in frame.columns]
    return [
        Cell(
            os=row["os"],
            load=float(row["message_bytes"]),
            setting={knob: float(value) for knob in _KNOBS if (value := row[ASKED + knob]) is not None},
            repeats=1,
            measured={name: float(row[name]) for name in names if row[name] is not None},
        )
        for row in frame.iter_rows(named=True)
    ]


def _cell(repeats: Sequence[Cell]) -> Cell:
    values: dict[str, list[float]] = defaultdict(list)
    for trial in repeats:
        for name, value in trial.measured.items():
            values[name].append(value)
    medians = {name: statistics.median(numbers) for name, numbers in values.items()}
    return replace(repeats[0], repeats=len(repeats), measured=medians)


def select_loads(cells: Sequence[Cell], loads: Sequence[float]) -> list[Cell]:
    """The cells at some of the loads; all when `loads` is empty.

    Raises:
        InputError: nothing was measured at one of the loads.
    """
    data_loads = sorted({cell.load for cell in cells})
    for load in loads:
        if load not in data_loads:
            hint = f"loads in the data: {', '.join(f'{one:g}' for one in data_loads)}"
            raise InputError("a load must be one that was measured", value=f"{load:g}", hint=hint)
    return [cell for cell in cells if not loads or cell.load in loads]


def check_loop(profile: _core.Profile, cells: Iterable[Cell]) -> None:
    """Whether what was measured is what the profile models: clients that send at a rate, or one message back and forth.

    Raises:
        InputError: it is the other.
    """
    if any(cell.is_closed_loop != profile.closed_loop for cell in cells):
        measured, modelled = ("rates", "a closed loop") if profile.closed_loop else ("a closed loop", "rates")
        raise InputError(
            "a profile must be of the loop that was measured",
            wrong=f"the study is of {measured}, and {profile.name} of {modelled}",
            value=profile.name,
            parameter="profile",
        )


def compare(
    profile: _core.Profile,
    cells: Sequence[Cell],
    *,
    requests: int,
    seed: int,
    threads: int,
    on_done: Callable[[int], None] = lambda _: None,
) -> list[Comparison]:
    """Simulates every cell; all see the same arrivals, so that differences between cells are not noise.

    Args:
        profile: The server.
        cells: What to simulate.
        requests: Simulated requests in each cell (four times as many for the default policy), over all windows.
        seed: Seed of all randomness.
        threads: Threads to use; the result does not depend on it.
        on_done: Told after each batch how many cells it had.

    Raises:
        InputError: the cells are of another loop than the profile's.
    """
    check_loop(profile, cells)
    comparisons: list[Comparison] = []
    batch = 8 * threads
    for start in range(0, len(cells), batch):
        some = cells[start : start + batch]
        simulated = simulate_cells(profile, some, requests=requests, seed=seed, threads=threads)
        comparisons += [Comparison(c, s) for c, s in zip(some, simulated, strict=True)]
        on_done(len(some))
    return comparisons


def simulate_cells(
    profile: _core.Profile, cells: Sequence[Cell], *, requests: int, seed: int, threads: int
) -> list[Mapping[str, float]]:
    """What the twin measures in every cell: the means of `REPEATS` independent windows.

    Some of a run's randomness lasts as long as the run, such as how far apart the interrupts of different cores are;
    a longer window does not average it out. Repeats do, in the measurements as here.
    """
    seeds = [int(s) for s in np.random.SeedSequence(seed).generate_state(REPEATS, np.uint64)]
    runs = [_run(profile, cell, requests=requests, seed=s) for cell in cells for s in seeds]
    windows = simulate(profile, runs, threads=threads)
    repeats = [windows[start : start + REPEATS] for start in range(0, len(windows), REPEATS)]
    return [_as_measured(cell, combine_batches(some).quantities) for cell, some in zip(cells, repeats, strict=True)]


def _as_measured(cell: Cell, simulated: Mapping[str, float]) -> Mapping[str, float]:
    if "roundtrips" not in cell.measured:
        return simulated
    share = cell.measured["roundtrips"] / simulated["roundtrips"]
    return {**simulated, **{name: share * simulated[name] for name in (*_PER_ROUND_TRIP, "roundtrips")}}


def _run(profile: _core.Profile, cell: Cell, *, requests: int, seed: int) -> _core.Run:
    length = max(requests * (_DEFAULT_WINDOW if cell.is_default else 1) // REPEATS, 1)
    return simulation_run(profile, cell.setting, load=cell.load, requests=length, seed=seed)


def errors_by_load(comparisons: Iterable[Comparison]) -> list[Errors]:
    """Errors of every operating system and load, in that order."""
    groups: dict[tuple[str, float], list[Comparison]] = defaultdict(list)
    for comparison in comparisons:
        groups[comparison.cell.os, comparison.cell.load].append(comparison)
    return [_errors(os, load, group) for (os, load), group in sorted(groups.items())]


def _errors(os: str, load: float, group: Sequence[Comparison]) -> Errors:
    is_closed_loop = group[0].cell.is_closed_loop
    names = CLOSED_LOOP_QUANTITIES if is_closed_loop else QUANTITIES
    latencies = () if is_closed_loop else LATENCIES
    static = [c for c in group if not c.cell.is_default]
    default = next((c for c in group if c.cell.is_default), None)
    unsaturated = [c for c in static if not c.cell.is_saturated]
    comparisons = {name: unsaturated if name in latencies else static for name in names}
    return Errors(
        os=os,
        load=load,
        is_closed_loop=is_closed_loop,
        cells=len(static),
        mape={name: e for name, some in comparisons.items() if (e := _mape(some, name)) is not None},
        mape_all={name: e for name in latencies if (e := _mape(static, name)) is not None},
        default={n: e for n in names if default is not None and (e := default.error(n)) is not None},
    )


def _mape(comparisons: Sequence[Comparison], quantity: str) -> float | None:
    errors = [abs(e) for c in comparisons if (e := c.error(quantity)) is not None]
    return statistics.fmean(errors) if errors else None
