"""Who searches: BayOp's own optimizers, and a peer that is no part of it."""

from __future__ import annotations

from typing import Final

from bayop.errors import UnsupportedError
from bayop.optimize import OPTIMIZERS, make_optimizer
from bayop.optimize.base import Optimizer, Problem

OPTUNA: Final = "optuna-constrained"
CONTESTANTS: Final = (*OPTIMIZERS, OPTUNA)


def make_contestant(name: str, problem: Problem, *, seed: int) -> Optimizer:
    """One of `CONTESTANTS` for one search.

    Raises:
        UnsupportedError: it is not installed.
    """
    if name != OPTUNA:
        return make_optimizer(name, problem, seed=seed)
    try:
        from bench.search.optuna_gp import OptunaSearch
    except ImportError as error:
        raise UnsupportedError(wrong=f"Optuna, which {OPTUNA} uses, is not installed", hint="make extras") from error
    return OptunaSearch(problem, seed=seed)
