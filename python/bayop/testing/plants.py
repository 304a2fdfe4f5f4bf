"""Plants and oracles in a few formulas, for tests of controllers and experiments that need an answer at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from bayop.measurement import Measurement
from bayop.space import Setting, Space
from bayop.target.oracle import Question
from bayop.target.plant import Plant
from bayop.testing.fakes import QUANTITIES, FakeServer, Shape, papers_space

_CUT_SHARE: Final = 0.25
"""How much of a window passes that is cut short."""


@dataclass(slots=True)
class FakePlant:
    """A server in formulas whose load is a function of time, and which can be made to misbehave.

    Attributes:
        load: Offered load at a time.
        disturb: Factor on every latency at a time, for breaches that no setting explains.
        fail_at_s: Raises `failure` in the first window that ends after this time.
        failure: What it raises.
        applied: Every setting that was applied, in order; None for the default.
        windows: (start, duration) of every measurement.
    """

    load: Callable[[float], float]
    disturb: Callable[[float], float] = lambda _: 1.0
    fail_at_s: float = float("inf")
    failure: type[BaseException] = KeyboardInterrupt
    shape: Shape = field(default_factory=Shape)
    space: Space = field(default_factory=lambda: papers_space(auto=True))
    applied: list[Setting | None] = field(default_factory=lambda: [None])
    windows: list[tuple[float, float]] = field(default_factory=list)
    description: str = "a plant in a few formulas"
    quantities: frozenset[str] = QUANTITIES

    def load_at(self, time_s: float) -> float:
        """Offered load."""
        return self.load(time_s)

    def apply(self, setting: Setting) -> Setting:
        """Notes the setting."""
        self.applied.append(self.space.check(setting))
        return self.space.check(setting)

    def measure(self, start_s: float, duration_s: float) -> Measurement:
        """The formulas, without noise."""
        if start_s + duration_s > self.fail_at_s:
            raise self.failure
        self.windows.append((start_s, duration_s))
        truth = self.shape.at(self.applied[-1] or {}, self.load(start_s))
        factor = self.disturb(start_s)
        truth |= {name: value * factor for name, value in truth.items() if name.endswith("_us")}
        return Measurement(truth | {"duration_s": duration_s, "energy_j": truth["power_w"] * duration_s})

    def restore(self) -> None:
        """Back to the default."""
        if self.applied[-1] is not None:
            self.applied.append(None)


class CuttingPlant:
    """A plant whose windows are cut short, as those of a live server are when their setting does harm.

    Args:
        plant: What is measured.
        cuts: Whether the window that begins at a time is cut short.
        shows: What such a window shows beside its duration, of what the plant measures.
    """

    def __init__(self, plant: Plant, cuts: Callable[[float], bool], *, shows: frozenset[str] = frozenset()) -> None:
        self.description = plant.description
        self.space = plant.space
        self.quantities = plant.quantities
        self.load_at = plant.load_at
        self.apply = plant.apply
        self.restore = plant.restore
        self._plant = plant
        self._cuts = cuts
        self._shows = shows

    def measure(self, start_s: float, duration_s: float) -> Measurement:
        """The plant's window, or the beginning of it."""
        if not self._cuts(start_s):
            return self._plant.measure(start_s, duration_s)
        window = self._plant.measure(start_s, _CUT_SHARE * duration_s)
        quantities = {name: value for name, value in window.quantities.items() if name in self._shows | {"duration_s"}}
        return Measurement(quantities, cut_short="its latency was twice the SLO's limit")


class FakeOracle:
    """A server in formulas, with seeded log-normal noise.

    Args:
        shape: The server.
        noise: Scales the noise; 0 for the exact formulas.
        name: What people call it.
    """

    quantities = QUANTITIES

    def __init__(self, shape: Shape | None = None, *, noise: float = 0.2, name: str = "a server in formulas") -> None:
        self.description = name
        self.space: Space = papers_space(auto=True)
        self._shape = shape or Shape()
        self._noise = noise

    def answer(self, questions: Sequence[Question], *, requests: int, threads: int) -> list[Measurement]:
        """The formulas times the noise of each question's seed."""
        del requests, threads
        return [self._window(question) for question in questions]

    def _window(self, question: Question) -> Measurement:
        server = FakeServer(self.space, qps=question.qps, shape=self._shape, noise=self._noise, seed=question.seed)
        if question.setting is not None:
            server.apply(question.setting)
        return server.measure()
