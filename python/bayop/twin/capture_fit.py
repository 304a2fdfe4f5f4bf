"""A profile of somebody's own server, from captures of its interrupts at a few settings.

What the records tell directly is not searched for: the handlers' times give the costs of an interrupt and of a packet,
the least spacing gives the delay in effect, and packets a request give the acknowledgements. What shows only in sums is
fitted by simulation (`Calibration`): the time of a request to the utilization, coefficients of power to power readings.
Everything else stays as the profile has it, and is said to be assumed.

How good that is follows from leaving out each capture in turn: what a fit to the others says of it is a prediction, and
how far each number moves meanwhile is its standard error (the jackknife; Efron, "Bootstrap methods: another look at the
jackknife", Annals of Statistics 1979).
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from bayop import _core
from bayop.errors import InputError
from bayop.space import RX_USECS
from bayop.twin.calibrate import GROUPS, SEARCH_SD, Calibration, least_sweeps, short_budget
from bayop.twin.handlers import HandlerTimes, Line
from bayop.twin.observed import Observed
from bayop.twin.profile_library import with_values
from bayop.twin.validate import Cell, simulate_cells

QUANTITIES: Final = ("interrupts_per_s", "packets_per_interrupt", "utilization", "power_w")
"""What is predicted of a capture that was left out."""

_INTERRUPT: Final = "os.interrupt_kcycles"
_PACKET: Final = "os.packet_kcycles"
_TICK: Final = "machine.nic.rx_usecs_tick_factor"
_ACKS: Final = "app.ack_share"
_INSIDE: Final = ("os.lone_packet_kcycles", "os.tx_clean_kcycles")  # the line through the handlers' times has these too
# Acknowledgements are counted, whatever the load and the delay are.
_CONSTANT_ACKS: Final = {"app.ack_timeout_us": 1e7, "app.ack_rx_usecs": 1e9}
_REQUEST: Final = ("app.request_kcycles", "app.request_us")
# What readings of power tell, from the first one on; the last needs two frequencies, too.
_POWER: Final = (
    "machine.power.static_w", "machine.power.busy_core_at_max_freq_w", "machine.power.halted_core_at_max_freq_w",
)  # fmt: skip
_CHANCE: Final = 0.05  # packets a request, by which a short capture and the load that was said may differ
_SPACING_SD: Final = 0.004  # relative, of a quantile of spacings: what a histogram's buckets leave open
_LISTED: Final = ("application", "system", "power")


@dataclass(frozen=True, slots=True)
class Estimate:
    """One number of the fitted profile.

    Attributes:
        key: Its dotted key.
        before: What the profile had.
        after: What it has now; the same where it is assumed.
        sd: Standard error; None where it is assumed, the captures are just enough to tell the number, or the budget
            ended its search.
        is_fitted: Whether the captures tell it; otherwise it is assumed.
        evidence: What it was fitted to, or why it is assumed.
    """

    key: str
    before: float
    after: float
    sd: float | None
    is_fitted: bool
    evidence: str


@dataclass(frozen=True, slots=True)
class CapturePrediction:
    """What a fit says of a capture, beside what that showed.

    Attributes:
        capture: What was captured.
        held_out: Whether the fit has not seen it.
        predicted: `QUANTITIES` by name.
    """

    capture: Observed
    held_out: bool
    predicted: Mapping[str, float]

    def error(self, quantity: str) -> float | None:
        """Relative error, positive where the twin is too high; None when the quantity was not measured."""
        measured = self.capture.quantities.get(quantity)
        return None if measured is None else self.predicted[quantity] / measured - 1.0


@dataclass(frozen=True, slots=True)
class CaptureFit:
    """The outcome.

    Attributes:
        values: What the profile's numbers are now, by their dotted keys; the others stay.
        estimates: The same with their errors, then the most important of the others.
        predictions: For each capture what the profile says of it, and with several what a fit to the others says.
        is_complete: Whether every search ended because no step was worth it any more, and not with its budget.
    """

    values: Mapping[str, float]
    estimates: Sequence[Estimate]
    predictions: Sequence[CapturePrediction]
    is_complete: bool


class CaptureProblem:
    """Captures of one server, and the profile where the fit starts.

    Args:
        profile: A Linux server with interrupts, of an open loop, on the machine that was captured.
        captures: Of that server, each at one setting.
        sweeps: Budget of a fit: how often its captures are simulated.
        requests: Simulated requests for each of them.
        seed: Seed of all randomness.
        threads: Threads to use; the result does not depend on it.
        on_simulated: Told after every such sweep.

    Raises:
        InputError: the profile is of another kind or has other cores, a load is no possible one, or the budget is
            over before every search has made a step.
    """

    def __init__(
        self,
        profile: _core.Profile,
        captures: Sequence[Observed],
        *,
        sweeps: int,
        requests: int,
        seed: int,
        threads: int,
        on_simulated: Callable[[], None] = lambda: None,
    ) -> None:
        _check_profile(profile)
        for capture in captures:
            _check_capture(profile, capture)
        self._profile = profile
        self._captures = captures
        stages = self._stages(captures).values()
        least = len(stages) * max(map(least_sweeps, map(len, stages)), default=0)
        if sweeps < least:
            raise short_budget(sweeps, sum(map(len, stages)), least)
        self._sweeps = sweeps
        self._requests = requests
        self._seed = seed
        self._threads = threads
        self._on_simulated = on_simulated

    def fit(self) -> CaptureFit:
        """Fits all captures, and then all but each in turn.

        Raises:
            InputError: the captures do not tell the costs of interrupts and packets apart.
        """
        values, is_complete = self._values(self._captures)
        others = []
        predictions = [self._prediction(values, capture, held_out=False) for capture in self._captures]
        if len(self._captures) > 1:
            for left_out in self._captures:
                rest, whole = self._values([capture for capture in self._captures if capture is not left_out])
                is_complete &= whole
                others.append(rest)
                predictions.append(self._prediction(rest, left_out, held_out=True))
        estimates = self._estimates(values, others, is_complete=is_complete)
        return CaptureFit(values, estimates, predictions, is_complete)

    def _values(self, captures: Sequence[Observed]) -> tuple[dict[str, float], bool]:
        """The numbers that a fit to some captures finds, and whether its searches ended before the budget."""
        values = self._direct(captures)
        is_complete = True
        stages = self._stages(captures)
        for quantity, keys in stages.items():
            problem = Calibration(
                with_values(self._profile, values),
                [_cell(capture, quantity) for capture in captures],
                keys,
                requests=self._requests,
                seed=self._seed,
                threads=self._threads,
                on_simulated=self._on_simulated,
            )
            fit = problem.run(sweeps=self._sweeps // len(stages))
            values |= fit.after
            is_complete &= fit.is_complete
        return values, is_complete

    def _stages(self, captures: Sequence[Observed]) -> dict[str, Sequence[str]]:
        """What is searched for, and the quantity that tells it.

        One after the other, because no coefficient of power changes the utilization, and a power model that is off must
        not bend the time of a request. How costs scale with the frequency only two frequencies tell.
        """
        numbers = self._profile.values()
        two_freqs = len({round(capture.freq_mhz / 100.0) for capture in captures}) > 1
        readings = sum(capture.power_w is not None for capture in captures)
        request = [key for key in _REQUEST if numbers[key] > 0.0]
        power = [key for key in _POWER if numbers[key] > 0.0]
        stages = {
            "utilization": request if two_freqs else request[:1],
            "power_w": power[: min(readings, 3 if two_freqs else 2)],
        }
        return {quantity: keys for quantity, keys in stages.items() if keys}

    def _direct(self, captures: Sequence[Observed]) -> dict[str, float]:
        """The numbers that records give without a simulation."""
        line = self._line(captures)
        packets = sum(capture.packets_per_s for capture in captures)
        acks = packets / sum(capture.requests_per_s for capture in captures) - 1.0
        values = {
            _INTERRUPT: line.fixed,
            _PACKET: line.each,
            **dict.fromkeys(_INSIDE, 0.0),
            _ACKS: min(max(acks, 0.0), 1.0),
            **_CONSTANT_ACKS,
        }
        ticks = [capture.delay_us / capture.setting[RX_USECS] for capture in captures if capture.delay_us is not None]
        return values | ({_TICK: math.fsum(ticks) / len(ticks)} if ticks else {})

    def _line(self, captures: Sequence[Observed]) -> Line:
        """Kilocycles of an interrupt and of a packet; `Os` in crates/twin/src/profile/os.rs has what they take."""
        numbers = self._profile.values()
        memory_us, factor = numbers["os.memory_us_per_kcycle"], numbers["os.cost_factor"]
        return HandlerTimes.added(
            capture.handlers.times_factor(1.0 / (factor * (1e3 / capture.freq_mhz + memory_us))) for capture in captures
        ).line()

    def _prediction(self, values: Mapping[str, float], capture: Observed, *, held_out: bool) -> CapturePrediction:
        """What the profile with some values says; packets come as often as the load and the acknowledgements say."""
        profile = with_values(self._profile, values)
        simulated = simulate_cells(
            profile, [_cell(capture)], requests=4 * self._requests, seed=self._seed + 1, threads=self._threads
        )[0]
        packets_per_s = capture.requests_per_s * (1.0 + values[_ACKS])
        quantities = {**simulated, "packets_per_interrupt": packets_per_s / simulated["interrupts_per_s"]}
        return CapturePrediction(capture, held_out, {name: quantities[name] for name in QUANTITIES})

    def _estimates(
        self, values: Mapping[str, float], others: Sequence[Mapping[str, float]], *, is_complete: bool
    ) -> list[Estimate]:
        before, line = self._profile.values(), self._line(self._captures)
        sampled = {_INTERRUPT: line.fixed_sd, _PACKET: line.each_sd, _TICK: _SPACING_SD * values.get(_TICK, 0.0)}
        fitted = []
        for key, value in values.items():
            is_fitted, evidence = self._evidence(key)
            spread = _jackknife_sd([other[key] for other in others if key in other])
            sd: float | None
            if key in sampled:
                sd = max(sampled[key], spread or 0.0)
            elif key in (*_REQUEST, *_POWER):
                # Searches that were stopped stand near their common start, whatever the captures say.
                sd = max(spread, SEARCH_SD * value) if spread is not None and is_complete else None
            else:
                sd = spread or None
            fitted.append(Estimate(key, before[key], value, sd if is_fitted else None, is_fitted, evidence))
        listed = dict.fromkeys(key for group in _LISTED for key in (*GROUPS[group], _TICK))
        return fitted + [
            Estimate(key, before[key], before[key], None, is_fitted=False, evidence="as in the profile")
            for key in listed
            if key not in values
        ]

    def _evidence(self, key: str) -> tuple[bool, str]:
        """Whether a number is fitted, and to what, or why it is assumed."""
        captures = self._captures
        many = f"{len(captures)} capture{'s' if len(captures) > 1 else ''}"
        handlers = (True, f"handler times of {sum(capture.interrupts for capture in captures)} interrupts")
        inside, constant = (False, f"contained in {_PACKET}"), (False, f"{_ACKS} at any load and delay")
        known: dict[str, tuple[bool, str]] = {
            _INTERRUPT: handlers,
            _PACKET: handlers,
            **dict.fromkeys(_INSIDE, inside),
            _TICK: (True, f"least spacing in {sum(c.delay_us is not None for c in captures)} of {many}"),
            _ACKS: (True, f"packets a request in {many}"),
            **dict.fromkeys(_CONSTANT_ACKS, constant),
            **dict.fromkeys(_REQUEST, (True, f"utilization of {many}")),
            **dict.fromkeys(_POWER, (True, f"power of {many}")),
        }
        if all(capture.qps is None for capture in captures):
            known[_ACKS] = (False, "no load was given: a request a packet")
        return known[key]


def _check_profile(profile: _core.Profile) -> None:
    dispatch = tomllib.loads(profile.to_toml())["os"]["dispatch"]
    if profile.closed_loop or dispatch != "steered":
        raise InputError(
            "captures must be fitted to an open loop on Linux, such as linux-memcached",
            value=profile.name,
            parameter="profile",
        )


def _check_capture(profile: _core.Profile, capture: Observed) -> None:
    if capture.cpus != profile.serving_cores:
        raise InputError(
            "a capture must have the interrupts of as many CPUs as the profile has cores that serve",
            wrong=f"the capture has {capture.cpus} and {profile.name} {profile.serving_cores}",
            place=capture.name,
            hint="put the profile on your machine: a file with base, machine.cores, machine.package_cores and "
            "machine.frequency_domain_cores; docs/twin.md says how",
        )
    packets = capture.packets_per_s / capture.requests_per_s
    if not 1.0 - _CHANCE <= packets <= 2.0 + _CHANCE:
        raise InputError(
            "a load must be one or two packets a request: the request, and at most one acknowledgement",
            wrong=f"{packets:.3g} packets came for each request at {capture.requests_per_s:g} requests/s",
            place=capture.name,
        )


def _cell(capture: Observed, *fitted: str) -> Cell:
    """The capture as a cell of a study, with the quantities that a search fits."""
    measured = {name: value for name, value in capture.quantities.items() if name in fitted}
    return Cell("linux", capture.requests_per_s, capture.setting, 1, measured)


def _jackknife_sd(values: Sequence[float]) -> float | None:
    """The standard error of an estimate, from the estimates without each of the observations."""
    return math.sqrt((len(values) - 1) * float(np.var(values))) if len(values) > 1 else None
