"""Fits numbers of a profile to measured cells.

Least squares over the logarithm of simulated / measured, each quantity in units of the error that matters for it
(`TOLERANCES`). Every simulation sees the same random numbers, so a finite difference shows the effect of a parameter
and not noise. A weak pull towards the start keeps parameters that the data say little about where they were, and a
soft loss keeps single odd cells from bending everything else. Every load weighs the same, however many cells it has.
"""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bayop import _core
from bayop.errors import InputError, guess
from bayop.twin.profile_library import with_values
from bayop.twin.validate import Cell, check_loop, simulate_cells

TOLERANCES: Final[Mapping[str, float]] = {
    "power_w": 0.015,
    "utilization": 0.04,
    "interrupts_per_s": 0.04,
    "p5_us": 0.10,
    "p50_us": 0.04,
    "p90_us": 0.08,
    "p99_us": 0.05,
    "roundtrip_us": 0.03,
    "instructions": 0.08,
}
"""Relative errors that weigh equally."""

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "application": (
        "app.request_kcycles",
        "app.request_us",
        "app.service_exponential_share",
        "app.long_request_factor",
    ),
    "system": (
        "app.network_us",
        "app.after_response_kcycles",
        "os.interrupt_kcycles",
        "os.packet_kcycles",
        "os.tx_clean_kcycles",
        "os.thread_wake_kcycles",
        "os.idle_loop_kcycles",
        "os.idle_loop_us",
        "os.idle_loop_on_path_share",
        "machine.nic.tx_completion_us",
    ),
    "exchange": (
        "app.request_kcycles",
        "app.request_us",
        "app.after_response_kcycles",
        "exchange.copy_kcycles_per_kib",
        "exchange.wire_us",
        "exchange.kinstructions_per_kib",
        "exchange.packet_kinstructions",
        "app.request_kinstructions",
        "app.interrupt_kinstructions",
        "os.idle_loop_us",
    ),
    "interrupts": (
        "os.interrupt_kcycles",
        "os.tx_clean_kcycles",
        "os.idle_loop_kcycles",
        "machine.nic.coalesce_us",
        "machine.nic.tx_completion_us",
        "machine.nic.eager_writeback_us",
    ),
    "power": (
        "machine.power.static_w",
        "machine.power.busy_core_at_max_freq_w",
        "machine.power.halted_core_at_max_freq_w",
        "machine.power.frequency_exponent",
    ),
}
"""Parameters by the part of a server that they describe."""

SEARCH_SD: Final = 2e-3
"""Relative, of a fitted value: a search ends when its steps are smaller."""
_LEAST_ROUNDS: Final = 2  # the start with its gradient, and a step
_STEP: Final = 0.03  # of the logarithm, in finite differences: large against what is left of the noise
_PULL: Final = 0.03  # residual of a parameter that moved by a factor of e
_SATURATED_WEIGHT: Final = 0.1  # of latencies where chance decides them
_SMALL: Final = 1e-3  # stands for zero, which has no logarithm
_BOUND: Final = 4.0  # of the logarithm: nothing moves by more than a factor of 50

_MOST: Final[Mapping[str, float]] = {"_share": 1.0, "_log_sd": 2.0}
"""What a profile allows at most, by how the parameter's name ends (crates/twin/src/profile/limits.rs)."""

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Fit:
    """The outcome of a calibration.

    Attributes:
        profile: The profile with the fitted values.
        before: Values of the fitted parameters at the start.
        after: The same after the fit.
        cost_before: Mean squared error in units of the tolerances at the start.
        cost_after: The same after the fit.
        is_complete: Whether the search ended because no step was worth it any more, and not with its budget.
    """

    profile: _core.Profile
    before: Mapping[str, float]
    after: Mapping[str, float]
    cost_before: float
    cost_after: float
    is_complete: bool


@dataclass(frozen=True, slots=True)
class Sibling:
    """The same machine and operating system with another application, and what was measured there.

    One load hardly tells static power, halted power and busy power apart; another application's loads do.

    Attributes:
        profile: The server; its application keeps its numbers.
        cells: Measured cells.
    """

    profile: _core.Profile
    cells: Sequence[Cell]


class Calibration:
    """A least-squares problem over some parameters of a profile.

    Args:
        profile: Where the fit starts.
        cells: Measured cells to fit.
        parameters: Dotted keys of numbers in the profile.
        siblings: Are fitted too, with the profile's parameters of machine and operating system.
        requests: Simulated requests in every cell.
        seed: Seed of all randomness.
        threads: Threads to use; the result does not depend on it.
        on_simulated: Told after every sweep over the cells.

    Raises:
        InputError: there are no cells or fewer numbers in them than parameters, or a parameter is no number of the
            profile.
    """

    def __init__(
        self,
        profile: _core.Profile,
        cells: Sequence[Cell],
        parameters: Sequence[str],
        *,
        siblings: Sequence[Sibling] = (),
        requests: int,
        seed: int,
        threads: int,
        on_simulated: Callable[[], None] = lambda: None,
    ) -> None:
        if not cells:
            raise InputError(wrong="there is no measured cell to fit")
        numbers = sum(
            len(TOLERANCES.keys() & cell.measured) for cell in [*cells, *(c for s in siblings for c in s.cells)]
        )
        if numbers < len(parameters):
            raise InputError(
                "a fit must have a measured number for every parameter at least",
                wrong=f"{len(parameters)} parameters, and {numbers} numbers in all measured cells",
                hint="name fewer parameters, or measure more settings and loads",
            )
        self._profile = profile
        self._cells = cells
        self._siblings = siblings
        self._groups = sum(len({cell.load for cell in some}) for some in [cells, *(s.cells for s in siblings)])
        self._parameters = tuple(parameters)
        self._requests = requests
        self._seed = seed
        self._threads = threads
        self._on_simulated = on_simulated
        check_loop(profile, cells)
        self._before = checked_parameters(profile, parameters)
        self._start: Vector = np.log(np.maximum(list(self._before.values()), _SMALL))
        self._residual_at: tuple[Vector, Vector] | None = None

    def run(self, *, sweeps: int) -> Fit:
        """Fits within a budget of `sweeps` over the cells, each with one set of values.

        Raises:
            InputError: the budget is over before the first step.
        """
        from scipy.optimize import least_squares

        rounds = sweeps // (len(self._parameters) + 1)
        if rounds < _LEAST_ROUNDS:
            raise short_budget(sweeps, len(self._parameters), least_sweeps(len(self._parameters)))

        greatest = self._greatest()
        upper = np.where(np.isfinite(greatest), greatest, self._start + _BOUND)
        start = np.minimum(self._start, upper - 1e-6)
        solution = least_squares(
            self.residuals,
            start,
            jac=self._jacobian,
            bounds=(np.minimum(start, self._start) - _BOUND, upper),
            loss="soft_l1",
            x_scale=0.3,
            max_nfev=rounds,
            xtol=SEARCH_SD,
            ftol=1e-3,
        )
        after = dict(zip(self._parameters, map(float, np.exp(solution.x)), strict=True))
        return Fit(
            profile=with_values(self._profile, after),
            before=self._before,
            after=after,
            cost_before=self._cost(self._start),
            cost_after=self._cost(solution.x),
            is_complete=solution.status > 0,
        )

    def residuals(self, x: Vector) -> Vector:
        """Errors of all cells in units of their tolerances, and the pull, at the logarithms `x`."""
        if self._residual_at is None or not np.array_equal(self._residual_at[0], x):
            self._residual_at = (x.copy(), self._residuals(x))
        return self._residual_at[1]

    def _residuals(self, x: Vector) -> Vector:
        own = dict(zip(self._parameters, map(float, np.exp(x)), strict=True))
        shared = {key: value for key, value in own.items() if key.startswith(("machine.", "os."))}
        errors = self._errors(self._profile, self._cells, own)
        for sibling in self._siblings:
            errors += self._errors(sibling.profile, sibling.cells, shared)
        self._on_simulated()
        return np.concatenate([*errors, _PULL * (x - self._start)])

    def _errors(self, profile: _core.Profile, cells: Sequence[Cell], values: Mapping[str, float]) -> list[Vector]:
        simulated = simulate_cells(
            with_values(profile, values), cells, requests=self._requests, seed=self._seed, threads=self._threads
        )
        per_load = Counter(cell.load for cell in cells)
        return [
            _weighted_errors(cell, one) / np.sqrt(self._groups * per_load[cell.load])
            for cell, one in zip(cells, simulated, strict=True)
        ]

    def _jacobian(self, x: Vector) -> Vector:
        here = self.residuals(x)
        upper = self._greatest()
        columns = []
        for index in range(len(x)):
            step = _STEP if x[index] + _STEP <= upper[index] else -_STEP
            neighbour = x.copy()
            neighbour[index] += step
            columns.append((self._residuals(neighbour) - here) / step)
        return np.stack(columns, axis=1)

    def _greatest(self) -> Vector:
        """The logarithms that a profile allows at most."""
        return np.log([_most(key) for key in self._parameters])

    def _cost(self, x: Vector) -> float:
        errors = self.residuals(x)[: -len(x)]
        return float(np.sum(errors**2))


def least_sweeps(parameters: int) -> int:
    """The budget of a fit's first step: every round is a sweep, and one for the slope along each parameter."""
    return _LEAST_ROUNDS * (parameters + 1)


def short_budget(sweeps: int, parameters: int, least: int) -> InputError:
    """That a budget ends before a fit's first step."""
    return InputError(
        "the budget of a fit must be enough for its first step",
        wrong=f"{parameters} parameters take {least} sweeps for that, and {sweeps} may be done",
        value=sweeps,
        parameter="sweeps",
        hint=f"{least} or more; a whole fit takes many steps",
    )


def checked_parameters(profile: _core.Profile, parameters: Sequence[str]) -> dict[str, float]:
    """Present values of parameters.

    Raises:
        InputError: a parameter is no number of the profile, a whole one, or comes twice.
    """
    values = profile.values()
    for key in parameters:
        if key not in values:
            groups = f"keys look like app.request_kcycles; groups: {', '.join(GROUPS)}"
            hint = guess(key, values) or groups
            raise InputError(
                "a parameter must be the dotted key of a number in the profile, or a group", value=key, hint=hint
            )
        if _is_count(profile, key):
            raise InputError(
                "a parameter must move in small steps, and this one is a count",
                value=key,
                hint="try its values one by one, each in a copy of the profile",
            )
    if not parameters or len(set(parameters)) != len(parameters):
        raise InputError("a fit must have at least one parameter, each once", value=", ".join(parameters))
    return {key: values[key] for key in parameters}


def named_parameters(profile: _core.Profile, names: Sequence[str]) -> list[str]:
    """Keys from keys and names of `GROUPS`; a group leaves out what is zero, and so absent, in this profile.

    Raises:
        InputError: a name is neither a group nor the key of a number.
    """
    values = profile.values()
    keys: dict[str, None] = {}
    for name in names:
        group = GROUPS.get(name)
        keys |= dict.fromkeys([name] if group is None else [key for key in group if values.get(key, 0.0) > 0.0])
    return list(checked_parameters(profile, list(keys)))


def _is_count(profile: _core.Profile, key: str) -> bool:
    """Whether the profile has a whole number at a dotted key, such as `machine.cores`."""
    slot: Any = tomllib.loads(profile.to_toml())
    for part in key.split("."):
        slot = slot[int(part) if isinstance(slot, list) else part]
    return isinstance(slot, int)


def scattered(profile: _core.Profile, parameters: Sequence[str], *, relative_sd: float, seed: int) -> _core.Profile:
    """The profile with every parameter multiplied by a random factor, for a fit that must not know the answer."""
    before = checked_parameters(profile, parameters)
    factors = np.exp(relative_sd * np.random.default_rng(seed).standard_normal(len(before)))
    values = {
        key: min(value * float(factor), _most(key))
        for (key, value), factor in zip(before.items(), factors, strict=True)
    }
    return with_values(profile, values)


def _most(key: str) -> float:
    return next((most for end, most in _MOST.items() if key.endswith(end)), math.inf)


def _weighted_errors(cell: Cell, simulated: Mapping[str, float]) -> Vector:
    errors = []
    for name, tolerance in TOLERANCES.items():
        measured, value = cell.measured.get(name), simulated.get(name)
        if measured is not None and value is not None:
            queues = name.endswith("_us") and not cell.is_closed_loop
            weight = _SATURATED_WEIGHT if queues and cell.is_saturated else 1.0
            if value <= 0.0:
                wrong = f"in so few requests the twin shows no {name}"
                raise InputError(wrong=wrong, value=value, parameter="requests", hint="ask for more requests")
            errors.append(weight * np.log(value / measured) / tolerance)
    return np.array(errors)
