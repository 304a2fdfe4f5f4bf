"""Optimizers behind one ask/tell contract; pure maths, no I/O."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Final, cast

from bayop.errors import InputError, guess
from bayop.optimize.base import Optimizer, Problem
from bayop.optimize.sealed import SealedOptimizer, sealed

# name: (module, class); imported when asked for, because `ax` brings PyTorch.
OPTIMIZERS: Final[dict[str, tuple[str, str]]] = {
    "grey-box": ("bayop.optimize.grey_box", "GreyBox"),
    "ax": ("bayop.optimize.ax", "AxPenalty"),
    "ax-constrained": ("bayop.optimize.ax", "AxConstrained"),
    "random": ("bayop.optimize.random", "RandomSearch"),
    "grid": ("bayop.optimize.grid", "GridSearch"),
}


def make_optimizer(name: str, problem: Problem, *, seed: int) -> Optimizer:
    """The optimizer `name` for one search, to be asked and told.

    Args:
        name: A key of `OPTIMIZERS`: `grey-box`, `ax`, `ax-constrained`, `random` or `grid`.
        problem: What to search for.
        seed: The same seed and the same observations give the same trials.

    Raises:
        BayopError: it can't be made; later on, whatever goes wrong in it.
        InputError: there is no optimizer of that name.

    Example:
        >>> from bayop import Measurement, Objective, Observation, Problem, Slo, make_optimizer, study_target
        >>> server = study_target("example:memcached", os="linux", qps=600_000, seed=0)
        >>> slo = Slo.parse("p99<500us")
        >>> problem = Problem(server.space, slo, Objective.parse("power", slo), server.qps)
        >>> optimizer = make_optimizer("grey-box", problem, seed=0)
        >>> asked = optimizer.ask(trials_left=10)
        >>> dict(asked.setting)  # the fastest: safe, and what the model learns the machine's scale from
        {'nic.rx_usecs': 2, 'cpu.freq_mhz': 2900}
        >>> in_effect = server.apply(asked.setting)
        >>> optimizer.tell(Observation(in_effect, server.measure(), server.qps))
        >>> optimizer.incumbent() == in_effect
        True
    """
    if name not in OPTIMIZERS:
        hint = guess(name, OPTIMIZERS) or f"the optimizers are {', '.join(OPTIMIZERS)}"
        raise InputError(wrong=f"there is no optimizer {name!r}", value=name, hint=hint)
    module, class_name = OPTIMIZERS[name]
    make = cast("Callable[..., Optimizer]", getattr(import_module(module), class_name))
    with sealed(name):
        return SealedOptimizer(name, make(problem, seed=seed))
