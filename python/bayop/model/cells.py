"""What the models are fitted to: one operating system's settings at one or more loads, medians over repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bayop.errors import InputError
from bayop.slo import Slo
from bayop.space import FREQ_MHZ, RX_USECS
from bayop.study import trusted
from bayop.units import format_quantity

Array: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = NDArray[np.bool_] | NDArray[np.intp]

ENERGY_PER_INTERRUPT: Final = "energy_per_interrupt_j"
_CAP: Final = "asked.power.cap_w"
_SETTING: Final = ("qps_offered", "delay_us", "freq_ghz")


@dataclass(frozen=True, slots=True)
class Cells:
    """n measured cells; every array has shape (n,), and NaN stands for what was not measured.

    Attributes:
        slo: Its quantile is that of the latency; cells that miss it have been left out.
        qps: Offered load q, requests/s.
        delay_us: ITR-delay d in effect, us.
        freq_ghz: Pinned frequency f, GHz.
        latency_us: The SLO's latency quantile, us.
        power_w: Power, W.
        utilization: Share of core time that is busy, 0-1.
        energy_per_interrupt_j: Power over interrupts/s, J: the energy that Eq. 3 is about.
    """

    slo: Slo
    qps: Array
    delay_us: Array
    freq_ghz: Array
    latency_us: Array
    power_w: Array
    utilization: Array
    energy_per_interrupt_j: Array

    def __len__(self) -> int:
        return len(self.qps)

    def rows(self, index: Rows) -> Cells:
        """The cells at `index`, any of them several times."""
        columns = {name: getattr(self, name)[index] for name in self.__slots__ if name != "slo"}
        return Cells(slo=self.slo, **columns)

    def measured(self, quantity: str) -> Array:
        """A quantity by the name that it has in studies: the SLO's `p99_us`, `power_w`, `utilization`, ..."""
        column: Array = self.latency_us if quantity == self.slo.quantity else getattr(self, quantity)
        return column

    @property
    def loads(self) -> list[float]:
        """The loads, ascending."""
        return [float(q) for q in np.unique(self.qps)]

    @property
    def settings(self) -> NDArray[np.intp]:
        """For each cell the number of its setting; cells of one setting at several loads share theirs."""
        pairs = np.column_stack([self.delay_us, self.freq_ghz])
        return np.asarray(np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1))


@dataclass(frozen=True, slots=True)
class Selection:
    """The cells of one operating system, and how many were not for fitting.

    Attributes:
        os: The operating system; empty where the study names none.
        cells: What is fitted.
        beyond_slo: Cells left out because they miss the SLO.
        short_delay: Cells left out because their ITR-delay is 0, to which Eq. 3 gives no energy, or less than asked.
    """

    os: str
    cells: Cells
    beyond_slo: int
    short_delay: int


def select(
    study: pl.DataFrame,
    slo: Slo,
    *,
    loads: Sequence[float] = (),
    os: str | None = None,
    least_delay_us: float = 0.0,
) -> list[Selection]:
    """The cells of a study, for each of its operating systems.

    Rows without a fixed ITR-delay and a fixed frequency (the default policy), with a power cap, cut short or not to
    be trusted are no cells. Those that miss the SLO are left out as the authors leave them out: the model of [D] has
    no saturation.

    Args:
        study: Trials in the study schema.
        slo: Which cells to leave out, and which latency quantile is modelled.
        loads: Only these loads, requests/s; empty for all.
        os: Only this operating system.
        least_delay_us: Only ITR-delays from here on.

    Raises:
        InputError: a column is missing, there are several applications, or no cell is left.
    """
    columns = ("qps_offered", f"asked.{RX_USECS}", f"asked.{FREQ_MHZ}", slo.quantity, "power_w")
    missing = [name for name in columns if name not in study.columns]
    if missing:
        rule = f"a study to fit must have {', '.join(columns)}"
        raise InputError(rule, wrong=f"there is no column {', '.join(missing)}")
    _check_one_app(study)
    systems = _systems(study, os)
    if os is not None:
        study = study.filter(pl.col("os") == os)
    fixed = trusted(study).filter(pl.col(f"asked.{RX_USECS}").is_not_null(), pl.col(f"asked.{FREQ_MHZ}").is_not_null())
    if _CAP in fixed.columns:
        fixed = fixed.filter(pl.col(_CAP).is_null())
    frame = fixed.drop_nulls("qps_offered").filter(pl.col(slo.quantity) > 0.0, pl.col("power_w") > 0.0)
    if loads:
        _check_loads(loads, frame)
        frame = frame.filter(pl.col("qps_offered").is_in([float(q) for q in loads]))
    of_system = {name: frame if not name else frame.filter(pl.col("os") == name) for name in systems}
    selections = [_selection(rows, name, slo, least_delay_us) for name, rows in of_system.items()]
    whole = [selection for selection in selections if len(selection.cells)]
    if not whole:
        of_any_delay = [_selection(rows, name, slo, 0.0) for name, rows in of_system.items()]
        raise _nothing_left(of_any_delay, slo, least_delay_us, any_fixed=len(fixed) > 0)
    return whole


def _nothing_left(selections: Sequence[Selection], slo: Slo, least_delay_us: float, *, any_fixed: bool) -> InputError:
    """Why no cell is left: what the settings lack that come closest to being one.

    Args:
        selections: What there would be without a least delay.
        slo: What cells must meet.
        least_delay_us: The least delay.
        any_fixed: Whether a trial that counts has a fixed ITR-delay and frequency.
    """
    beyond = sum(selection.beyond_slo for selection in selections)
    longest_us = max((float(s.cells.delay_us.max()) for s in selections if len(s.cells)), default=0.0)
    if longest_us > 0.0 or any(selection.short_delay for selection in selections):
        least = f"of {format_quantity(least_delay_us, 'us', 4)} or more" if least_delay_us > 0.0 else "above 0"
        wrong = f"of the settings that meet {slo}, none has an ITR-delay {least}"
        hint = "Eq. 3 gives no energy to a delay of 0"
        if least_delay_us > 0.0:
            hint = f"the longest of theirs is {format_quantity(longest_us, 'us', 4)}"
    elif beyond:
        wrong = f"of the {beyond} settings with a fixed ITR-delay and frequency, none meets {slo}"
        hint = "try a looser SLO"
    elif any_fixed:
        wrong = f"no trial with a fixed ITR-delay and frequency has a load, and {slo.quantity} and power_w above 0"
        hint = "each must have been measured in the same trial"
    else:
        wrong = "the study has no trusted trial with a fixed ITR-delay and frequency, and without a power cap"
        hint = f"asked.{RX_USECS} and asked.{FREQ_MHZ} are empty where the operating system's policy chose"
    rule = f"a study to fit must have settings with a fixed ITR-delay and frequency that meet {slo}"
    return InputError(rule, wrong=wrong, hint=hint)


def _check_one_app(study: pl.DataFrame) -> None:
    apps = sorted(study["app"].drop_nulls().unique().to_list()) if "app" in study.columns else []
    if len(apps) > 1:
        raise InputError("a fit must be of one application", value=", ".join(apps), hint="fit each one's study")


def _systems(study: pl.DataFrame, os: str | None) -> list[str]:
    there = sorted(study["os"].drop_nulls().unique().to_list()) if "os" in study.columns else []
    if os is not None and os not in there:
        hint = f"it has {', '.join(there)}" if there else "its trials name no operating system"
        raise InputError(wrong=f"the study has no trials of {os}", value=os, parameter="os", hint=hint)
    return [os] if os is not None else there or [""]


def _check_loads(loads: Sequence[float], frame: pl.DataFrame) -> None:
    there = frame["qps_offered"].unique().sort().to_list()
    for load in loads:
        if load not in there:
            hint = "it has " + ", ".join(f"{q:g}" for q in there)
            raise InputError(
                wrong=f"the study has no trials at {load:g} requests/s", value=load, parameter="load", hint=hint
            )


def _selection(frame: pl.DataFrame, os: str, slo: Slo, least_delay_us: float) -> Selection:
    effective = f"effective.{RX_USECS}"
    asked = pl.col(f"asked.{RX_USECS}")
    delay = pl.coalesce(effective, asked) if effective in frame.columns else asked
    cells = (
        frame.with_columns(
            delay.cast(pl.Float64).alias("delay_us"), (pl.col(f"asked.{FREQ_MHZ}") / 1000.0).alias("freq_ghz")
        )
        .group_by(*_SETTING)
        .agg(
            pl.col(slo.quantity).median().alias("latency_us"),
            pl.col("power_w").median(),
            _positive(frame, "utilization").median().alias("utilization"),
            (pl.col("power_w") / _positive(frame, "interrupts_per_s")).median().alias(ENERGY_PER_INTERRUPT),
        )
        .sort(*_SETTING)
    )
    within = cells.filter(pl.col("latency_us") < slo.limit_us)
    rows = within.filter(pl.col("delay_us") > 0.0, pl.col("delay_us") >= least_delay_us)
    names = ("delay_us", "freq_ghz", "latency_us", "power_w", "utilization", ENERGY_PER_INTERRUPT)
    columns = {name: rows[name].cast(pl.Float64).fill_null(float("nan")).to_numpy() for name in names}
    return Selection(
        os=os,
        cells=Cells(slo=slo, qps=rows["qps_offered"].cast(pl.Float64).to_numpy(), **columns),
        beyond_slo=cells.height - within.height,
        short_delay=within.height - rows.height,
    )


def _positive(frame: pl.DataFrame, name: str) -> pl.Expr:
    """A column where it has a logarithm, else null."""
    return pl.when(pl.col(name) > 0.0).then(pl.col(name)) if name in frame.columns else pl.lit(None, pl.Float64)
