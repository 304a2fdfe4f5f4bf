"""One trial of a sweep, wherever it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from bayop import __version__
from bayop.domains import Value
from bayop.errors import UnsupportedError
from bayop.experiments.sweep.load import Load
from bayop.experiments.sweep.makers import HeldMaker, Maker
from bayop.experiments.sweep.plan import Cell, Trial
from bayop.measurement import Measurement
from bayop.space import default_setting
from bayop.target.base import Target


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a trial showed.

    Attributes:
        load: What the target was under.
        effective: The setting as it was in effect.
        measurement: What its window showed.
        started_at: When it began; None where nothing but the seed decides what is measured.
    """

    load: Load
    effective: Mapping[str, Value]
    measurement: Measurement
    started_at: datetime | None


def run_trial(maker: Maker, trial: Trial, version: str) -> Outcome:
    """Applies the cell's setting to the target and measures it; ends the harm of a window that was cut short.

    Args:
        maker: Gives the target.
        trial: What is measured.
        version: BayOp's version where the sweep was planned.

    Raises:
        UnsupportedError: this machine's BayOp is of another version.
        BayopError: the target fails.
    """
    if version != __version__:
        raise UnsupportedError(
            "all machines of a sweep must have the same BayOp",
            value=__version__,
            hint=f"install version {version} on every node",
        )
    target = maker.make(trial.cell.load, seed=trial.seed)
    started_at = datetime.now(UTC) if isinstance(maker, HeldMaker) else None
    effective = _apply(target, trial.cell)
    measurement = target.measure()
    if measurement.censored:
        target.restore()
    return Outcome(trial.cell.load or Load(qps=target.qps), dict(effective), measurement, started_at)


def _apply(target: Target, cell: Cell) -> Mapping[str, Value]:
    if cell.is_default and not target.space.auto:
        # Left alone, such a target shows its default all the same.
        target.restore()
        return default_setting(target.space)
    return target.apply(cell.setting)
