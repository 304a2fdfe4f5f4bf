"""Every optimizer of the registry keeps the contract."""

from __future__ import annotations

from typing import ClassVar

import pytest

from bayop.optimize import OPTIMIZERS, make_optimizer
from bayop.optimize.base import Optimizer, Problem
from bayop.testing.optimizers import OptimizerContract


class TestGreyBox(OptimizerContract):
    def make(self, problem: Problem, *, seed: int) -> Optimizer:
        return make_optimizer("grey-box", problem, seed=seed)


class TestRandom(OptimizerContract):
    def make(self, problem: Problem, *, seed: int) -> Optimizer:
        return make_optimizer("random", problem, seed=seed)


class TestGrid(OptimizerContract):
    def make(self, problem: Problem, *, seed: int) -> Optimizer:
        return make_optimizer("grid", problem, seed=seed)


@pytest.mark.needs("ax")
@pytest.mark.slow
class TestAx(OptimizerContract):
    trials: ClassVar[int] = 7

    def make(self, problem: Problem, *, seed: int) -> Optimizer:
        return make_optimizer("ax", problem, seed=seed)


@pytest.mark.needs("ax")
@pytest.mark.slow
class TestAxConstrained(OptimizerContract):
    trials: ClassVar[int] = 7

    def make(self, problem: Problem, *, seed: int) -> Optimizer:
        return make_optimizer("ax-constrained", problem, seed=seed)


def test_every_optimizer_is_held_to_the_contract() -> None:
    assert set(OPTIMIZERS) == {"grey-box", "random", "grid", "ax", "ax-constrained"}, "add a class above"
