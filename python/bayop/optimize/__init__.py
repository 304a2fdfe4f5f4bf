"""Optimizers behind one ask/tell contract; pure maths, no I/O."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Final, cast

from bayop.optimize.base import Optimizer, Problem
from bayop.optimize.sealed import Sealed, sealed

# name: (module, class); imported when asked for, because `ax` brings PyTorch.
OPTIMIZERS: Final[dict[str, tuple[str, str]]] = {
    "grey-box": ("bayop.optimize.grey_box", "GreyBox"),
    "ax": ("bayop.optimize.ax", "AxPenalty"),
    "ax-constrained": ("bayop.optimize.ax", "AxConstrained"),
    "random": ("bayop.optimize.random", "RandomSearch"),
    "grid": ("bayop.optimize.grid", "GridSearch"),
}


def make_optimizer(name: str, problem: Problem, *, seed: int) -> Optimizer:
    """The optimizer `name` (a key of `OPTIMIZERS`) for one search.

    Raises:
        BayopError: it can't be made; later on, whatever goes wrong in it.
    """
    module, class_name = OPTIMIZERS[name]
    make = cast("Callable[..., Optimizer]", getattr(import_module(module), class_name))
    with sealed(name):
        return Sealed(name, make(problem, seed=seed))
