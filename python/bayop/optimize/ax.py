"""The papers' way to search: Ax, a general Bayesian optimizer that sees the server as a black box.

It is here to be compared with, and for people who want to reproduce [D]. Ax brings PyTorch, so it is an optional
extra and is imported when a search with it starts, never before.
"""

from __future__ import annotations

import logging
import math
import warnings
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bayop.domains import Value
from bayop.errors import InputError, UnsupportedError
from bayop.measurement import Measurement
from bayop.optimize.base import Observation, Problem
from bayop.optimize.measured import MeasuredSearch
from bayop.slo import QPS, Slo
from bayop.space import Knob, Setting

if TYPE_CHECKING:
    from ax.api.client import Client
    from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig

# The name that Ax knows the objective by.
_OBJECTIVE: Final = "objective"

# Ax takes no more choices than this in one parameter.
_MOST_CHOICES: Final = 1000

# The choice that says "a number, see the other parameter" of a knob that has words as well.
_A_NUMBER: Final = "number"


class _AxSearch(MeasuredSearch):
    """Sobol points first, then Ax's default Gaussian process and expected improvement ("Sobol + GPEI" in [D]).

    Args:
        problem: What to search for; its history is not used, because Ax has no notion of another load.
        seed: The same seed gives the same search.

    Raises:
        UnsupportedError: Ax is not installed.
    """

    def __init__(self, problem: Problem, *, seed: int) -> None:
        super().__init__(problem)
        # A knob with one value has nothing to optimize, and Ax refuses a space without a choice.
        self._codes = {k.id: _Code(f"x{i}", k) for i, k in enumerate(problem.space.knobs) if len(k.values()) > 1}
        self._constants = {k.id: k.values()[0] for k in problem.space.knobs if len(k.values()) == 1}
        self._trial: tuple[int, Setting] | None = None
        self._client = (
            _make_client(list(self._codes.values()), self.constraints(), np.random.SeedSequence(seed))
            if self._codes
            else None
        )

    @abstractmethod
    def outcomes(self, measurement: Measurement) -> Mapping[str, float]:
        """What Ax is told of a trial, by the names of the objective and of the constraints."""

    def constraints(self) -> list[str]:
        """Outcome constraints in Ax's notation; none unless a subclass has one."""
        return []

    def choose(self, trials_left: int) -> Setting:  # noqa: ARG002 -- Ax plans one trial ahead
        """What Ax proposes; when it has run out of ideas, the first setting that it left out."""
        if self._client is None:
            return MappingProxyType(dict(self._constants))
        setting = self._propose(self._client)
        return setting or next(s for s in self.problem.space.settings() if not self.was_tried(s))

    def tell(self, observation: Observation) -> None:
        """Hands the trial to Ax; one that Ax did not ask for is attached, and what it did ask for abandoned."""
        trial, self._trial = self._trial, None
        super().tell(observation)
        if self._client is None:
            return
        # Ax knows no bounds: of a censored trial it learns only, as of any trial, that it is over.
        measurement = observation.measurement
        outcomes = {} if measurement.censored else self.outcomes(measurement)
        usable = bool(outcomes) and all(math.isfinite(value) for value in outcomes.values())
        with _quiet():
            if trial is not None and usable and trial[1] == observation.setting:
                self._client.complete_trial(trial[0], raw_data=dict(outcomes))
                return
            if trial is not None:
                self._client.mark_trial_abandoned(trial[0])
            parameters = self._encode(observation.setting)
            if usable and parameters is not None:
                index = self._client.attach_trial(parameters)
                self._client.complete_trial(index, raw_data=dict(outcomes))

    def _propose(self, client: Client) -> Setting | None:
        from ax.exceptions.core import AxError

        try:
            with _quiet():
                ((index, parameters),) = client.get_next_trials(max_trials=1).items()
        except AxError:
            # It says so when a small space holds nothing new (SearchSpaceExhausted), sometimes a little early.
            return None
        values = {knob_id: code.decode(parameters) for knob_id, code in self._codes.items()}
        setting = self.problem.space.check(self._constants | values)
        if self.was_tried(setting):
            # A word has a code with every number; to Ax they are different points.
            client.mark_trial_abandoned(index)
            return None
        self._trial = (index, setting)
        return setting

    def _encode(self, setting: Setting) -> dict[str, Any] | None:
        """The setting as Ax knows it, or None when it lies outside the space (a driver may round out of it)."""
        try:
            values = self.problem.space.check(setting)
        except InputError:
            return None
        return {k: v for knob_id, code in self._codes.items() for k, v in code.encode(values[knob_id]).items()}


class AxPenalty(_AxSearch):
    """The papers' method: Ax minimises Rp = energy x max(latency - SLA + 1, 1) ([D] Eq. 4), latencies in us.

    Of several limits the one counts that is broken by most.

    Windows of equal length make energy and power the same objective. Any other objective under the SLO is penalised
    in the same way; objectives without a constraint (Rp itself is one) go to Ax as they are.

    Raises:
        InputError: the SLO asks for a throughput, which has no place in a penalty on latency.
    """

    def __init__(self, problem: Problem, *, seed: int) -> None:
        if problem.slo.least_qps is not None:
            raise InputError(
                "an SLO for the optimizer ax must have no throughput",
                value=str(problem.slo),
                place="SLO",
                hint="grey-box and ax-constrained keep one",
            )
        super().__init__(problem, seed=seed)

    def outcomes(self, measurement: Measurement) -> Mapping[str, float]:
        """The penalised objective."""
        value = self.problem.objective.of(measurement)
        if self.problem.objective.constrained:
            over_us = max(measurement[limit.quantity] - limit.limit_us for limit in self.problem.aim.limits)
            penalty = max(over_us + 1.0, 1.0)
            # abs: a breach makes a negative objective worse as well.
            value += abs(value) * (penalty - 1.0)
        return {_OBJECTIVE: value}


class AxConstrained(_AxSearch):
    """Ax with the SLO as an outcome constraint, which a model follows more easily than the cliff of Rp.

    The latency is modelled in the logarithm, where a Gaussian process fits it best; the constraint is the same.
    """

    def constraints(self) -> list[str]:
        """The SLO, on the logarithm of every latency."""
        if not self.problem.objective.constrained:
            return []
        aim = self.problem.aim
        floor = [] if aim.least_qps is None else [f"{QPS} >= {aim.least_qps:.12g}"]
        return [*(f"{_log(limit)} <= {math.log(limit.limit_us):.12f}" for limit in aim.limits), *floor]

    def outcomes(self, measurement: Measurement) -> Mapping[str, float]:
        """The objective, and what the SLO names where it is constrained."""
        outcomes = {_OBJECTIVE: self.problem.objective.of(measurement)}
        if self.problem.objective.constrained:
            slo = self.problem.slo
            outcomes |= {_log(limit): math.log(measurement[limit.quantity]) for limit in slo.limits}
            outcomes |= {} if slo.least_qps is None else {QPS: measurement[QPS]}
        return outcomes


def _log(limit: Slo) -> str:
    return f"log_{limit.quantity}"


class _Code:
    """A knob as parameters of Ax: its numbers, in order, and its words; a knob with both has a parameter for each.

    Ax models an ordered choice by its rank. Where it would not take so many choices, it gets the ranks themselves.
    """

    def __init__(self, name: str, knob: Knob) -> None:
        self._number, self._word = f"{name}_number", f"{name}_word"
        self._numbers = knob.numbers()
        self._words = [v for v in knob.values() if isinstance(v, str)]
        self._ranked = len(self._numbers) > _MOST_CHOICES

    def configs(self) -> list[ChoiceParameterConfig | RangeParameterConfig]:
        from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig

        configs: list[ChoiceParameterConfig | RangeParameterConfig] = []
        if self._ranked:
            configs.append(RangeParameterConfig(self._number, (0, len(self._numbers) - 1), "int"))
        elif len(self._numbers) > 1:
            numbers = [float(n) for n in self._numbers]
            configs.append(ChoiceParameterConfig(self._number, numbers, "float", is_ordered=True))
        if len(self._labels()) > 1:
            configs.append(ChoiceParameterConfig(self._word, self._labels(), "str", is_ordered=False))
        return configs

    def encode(self, value: Value) -> dict[str, Any]:
        if isinstance(value, str) and value not in self._words:
            # Of a knob that does not matter; Ax knows no other value.
            value = self._numbers[0] if self._numbers else self._words[0]
        word = isinstance(value, str)
        number = self._numbers[len(self._numbers) // 2] if word and self._numbers else value
        code: dict[str, Any] = {}
        if len(self._numbers) > 1:
            code[self._number] = bisect_left(self._numbers, float(number)) if self._ranked else float(number)
        if len(self._labels()) > 1:
            code[self._word] = self._labels()[self._words.index(str(value))] if word else _A_NUMBER
        return code

    def decode(self, parameters: Mapping[str, Any]) -> Value:
        label = parameters.get(self._word, _A_NUMBER if self._numbers else self._labels()[0])
        if label != _A_NUMBER:
            return self._words[self._labels().index(label)]
        number = parameters.get(self._number, self._numbers[0])
        return self._numbers[int(number)] if self._ranked else float(number)

    def _labels(self) -> list[str]:
        # Not the words themselves: one of them could be the label that stands for a number.
        return [*(f"word{i}" for i in range(len(self._words))), *([_A_NUMBER] if self._numbers else [])]


def _make_client(codes: list[_Code], constraints: list[str], seeds: np.random.SeedSequence) -> Client:
    sobol_seed, ax_seed = (int(s) for s in seeds.generate_state(2, dtype=np.uint32))
    with _quiet():
        try:
            from ax.api.client import Client
            from ax.utils.common.logger import set_stderr_log_level
        except ImportError as error:
            raise UnsupportedError(
                wrong="ax-platform, which the optimizers ax and ax-constrained use, is not installed",
                hint="pip install 'bayop[ax]'; the default optimizer, grey-box, needs nothing",
            ) from error
        # Ax announces every trial on stderr, which is ours to speak on.
        set_stderr_log_level(logging.CRITICAL)
        client = Client(random_seed=ax_seed)
        client.configure_experiment([config for code in codes for config in code.configs()])
        client.configure_optimization(f"-{_OBJECTIVE}", outcome_constraints=constraints or None)
        client.configure_generation_strategy(
            initialization_budget=max(5, 2 * len(codes)),
            initialization_random_seed=sobol_seed,
            initialize_with_center=False,
        )
    return client


@contextmanager
def _quiet() -> Iterator[None]:
    """Silences the warnings of PyTorch and Ax about themselves; nobody who tunes a server can act on them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        disabled = logging.root.manager.disable
        logging.disable(max(disabled, logging.INFO))
        try:
            yield
        finally:
            logging.disable(disabled)
