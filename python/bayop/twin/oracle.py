"""The digital twin as an oracle."""

from __future__ import annotations

from collections.abc import Sequence

from bayop.measurement import Measurement
from bayop.space import Space, default_setting
from bayop.target.oracle import Question
from bayop.twin.profile_library import load_profile
from bayop.twin.target import profile_space
from bayop.twin.windows import QUANTITIES, simulate, simulation_run


class TwinOracle:
    """A twin's profile, asked about loads and settings.

    Args:
        profile: Name of a built-in profile, or a profile file.
    """

    def __init__(self, profile: str) -> None:
        self._profile = load_profile(profile)
        self.description = f"the twin of {self._profile.name}"
        self.space: Space = profile_space(self._profile)
        self.quantities = QUANTITIES

    def answer(self, questions: Sequence[Question], *, requests: int, threads: int) -> list[Measurement]:
        """Simulates a window for every question."""
        runs = [
            simulation_run(
                self._profile,
                default_setting(self.space) if question.setting is None else question.setting,
                load=question.qps,
                requests=requests,
                seed=question.seed,
            )
            for question in questions
        ]
        return simulate(self._profile, runs, threads=threads)
