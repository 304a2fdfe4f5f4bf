"""The digital twin as a machine."""

from __future__ import annotations

from collections.abc import Sequence

from bayop.measurement import Measurement
from bayop.space import Space, default_setting
from bayop.study.machine import Cell
from bayop.target.twin import TwinTarget, load_profile, profile_space, simulate, simulation_run


class TwinMachine:
    """A twin's profile, asked about cells.

    Args:
        profile: Name of a built-in profile, or a profile file.
    """

    def __init__(self, profile: str) -> None:
        self._profile = load_profile(profile)
        self.description = f"the twin of {self._profile.name}"
        self.space: Space = profile_space(self._profile)
        self.quantities = TwinTarget(self._profile, qps=1.0, seed=0).quantities

    def answer(self, cells: Sequence[Cell], *, requests: int, threads: int) -> list[Measurement]:
        """Simulates all cells."""
        runs = [
            simulation_run(
                default_setting(self.space) if cell.setting is None else cell.setting,
                qps=cell.qps,
                requests=requests,
                seed=cell.seed,
            )
            for cell in cells
        ]
        return simulate(self._profile, runs, threads=threads)
