"""From observations to the model: which sizes of residual and noise are likely, and which windows fell off a cliff."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import product
from statistics import median
from typing import Final

import numpy as np

from bayop.measurement import Measurement
from bayop.optimize.base import Observation
from bayop.optimize.grey_box.inputs import Array, Inputs
from bayop.optimize.grey_box.mixture import Mixture
from bayop.optimize.grey_box.model import Data, Linearisation, Posterior, Scales
from bayop.optimize.grey_box.outputs import LATENCY, AnchoredMean, Outputs, noise_of
from bayop.slo import QPS, Slo
from bayop.space import setting_key

# Prior probability of each multiple of the reported noise.
_NOISE_SCALES: Final = {1.0: 0.7, 2.0: 0.2, 4.0: 0.1}
_OWN_NOISE_SCALES: Final = {1.0: 0.6, 2.0: 0.2, 4.0: 0.1, 8.0: 0.06, 16.0: 0.04}
_LEAST_WEIGHT: Final = 0.02

# A miss is a fall when its latency is so many times the limit at least, ...
_FALL_LATENCY: Final = 1.2
# ... and so far above what everything else leads to expect: in standard deviations, and as a ratio.
_FALL_SURPRISE: Final = 3.0
_FALL_RATIO: Final = 1.5
# So often at most the model is made anew without what it did not believe; each time takes as long as the first.
_MOST_ROUNDS: Final = 3

# A window is doubtful below this share of the median latency, and a fluke so far below what is expected.
_FLUKE_RATIO: Final = 0.5
# A meter may say 0; so little is as impossible, and has a logarithm.
_LEAST_US: Final = 1e-6

# So busy is no server at its fastest setting that has room for its load.
_POLLING: Final = 0.93


@dataclass(frozen=True, slots=True)
class Fit:
    """The model of a search.

    Attributes:
        mixture: What it expects.
        falls: Indices of the observations that lie beyond a cliff. They say where it is and nothing of its height,
            so their latency has no part in the model: a smooth model of a step is wrong on both of its sides.
    """

    mixture: Mixture
    falls: frozenset[int]


def fit(outputs: Outputs, observations: Sequence[Observation], inputs: Inputs, slo: Slo) -> Fit:
    """The model of at least one observation.

    Args:
        outputs: What is modelled.
        observations: What was told, in order.
        inputs: Their points.
        slo: By which a window misses.
    """
    if _never_rests(observations, slo):
        observations = [_without_utilization(o) for o in observations]
    starved = _starved(observations, slo)
    suspects, doubtful = _misses(observations, slo, by=_FALL_LATENCY) | starved, _doubtful(observations, slo)
    falls, flukes = starved, frozenset[int]()
    mixture = _fit_bounded(outputs, observations, inputs, slo, suspects | doubtful)
    if suspects or doubtful:
        expected = _expected(outputs, mixture, inputs, suspects | doubtful)
        falls |= {i for i in suspects if _fell(observations[i].measurement, slo, *expected[i])}
        flukes |= {i for i in doubtful if _is_fluke(observations[i].measurement, slo, *expected[i])}
        if falls | flukes != suspects | doubtful:
            mixture = _fit_bounded(outputs, observations, inputs, slo, falls | flukes)
    for _ in range(_MOST_ROUNDS):
        steps = _disbelieved(outputs, mixture, observations, inputs, slo) - falls - flukes
        if not steps:
            break
        falls |= steps
        mixture = _fit_bounded(outputs, observations, inputs, slo, falls | flukes)
    return Fit(mixture, falls)


def _never_rests(observations: Sequence[Observation], slo: Slo) -> bool:
    """Whether the cores poll while they wait: all busy in the first window, of the fastest setting, and yet in time.

    Utilization then tells nothing of how near the cliff is.
    """
    first = next((o for o in observations if not o.measurement.censored), None)
    busy = None if first is None else first.measurement.get("utilization")
    return first is not None and busy is not None and busy > _POLLING and first.meets(slo)


def _without_utilization(observation: Observation) -> Observation:
    shown = {k: v for k, v in observation.measurement.quantities.items() if k != "utilization"}
    return replace(observation, measurement=replace(observation.measurement, quantities=shown))


def _misses(observations: Sequence[Observation], slo: Slo, *, by: float) -> frozenset[int]:
    """The misses by so many times a limit, if anything met the SLO at all: else there is no edge to fall from.

    A window that was cut short has a bound instead of a latency, which says how far to stay away by itself.
    """
    if not any(o.meets(slo) for o in observations):
        return frozenset()
    whole = ((i, o.measurement) for i, o in enumerate(observations) if not o.measurement.censored)
    return frozenset(i for i, measurement in whole if any(_over(measurement, slo, by)))


def _starved(observations: Sequence[Observation], slo: Slo) -> frozenset[int]:
    """Windows below the throughput floor: a service that falls behind is beyond a cliff.

    It serves all that comes until its cores are overloaded, so that there is no slope that a model could follow.
    """
    floor = slo.least_qps
    if floor is None:
        return frozenset()
    whole = ((i, o.measurement) for i, o in enumerate(observations) if not o.measurement.censored)
    return frozenset(i for i, measurement in whole if (measurement.get(QPS) or 0.0) < floor)


def _over(measurement: Measurement, slo: Slo, by: float) -> list[bool]:
    """For each limit, whether a window shows more than so many times it."""
    return [(measurement.get(limit.quantity) or 0.0) > by * limit.limit_us for limit in slo.limits]


def _expected(
    outputs: Outputs, mixture: Mixture, inputs: Inputs, of: AbstractSet[int]
) -> dict[int, tuple[Array, Array]]:
    """Means and variances of the logarithms of some windows' latencies, by the windows' indices."""
    order = sorted(of)
    moments = mixture.predict(inputs.rows(np.array(order)), outputs.latencies)
    return dict(zip(order, zip(moments.mean_all.T, moments.variance_all.T, strict=True), strict=True))


def _fell(measurement: Measurement, slo: Slo, means: Array, variances: Array) -> bool:
    """Whether any latency that is far over its limit is so far above what is expected, too."""
    least = np.maximum(_FALL_SURPRISE * np.sqrt(variances), math.log(_FALL_RATIO))
    return any(
        is_far and math.log(measurement[limit.quantity]) - means[row] > least[row]
        for row, (limit, is_far) in enumerate(zip(slo.limits, _over(measurement, slo, _FALL_LATENCY), strict=True))
    )


def _disbelieved(
    outputs: Outputs, mixture: Mixture, observations: Sequence[Observation], inputs: Inputs, slo: Slo
) -> frozenset[int]:
    """The misses that the model does not believe although it was told of them: nothing smooth climbs a step.

    Left in, they would make it bend halfway on both sides, and say of a setting that missed again and again that it
    surely does not.
    """
    misses = _misses(observations, slo, by=1.0)
    expected = _expected(outputs, mixture, inputs, misses) if misses else {}

    def is_disbelieved(index: int) -> bool:
        measurement, (means, variances) = observations[index].measurement, expected[index]
        for row, (limit, is_over) in enumerate(zip(slo.limits, _over(measurement, slo, 1.0), strict=True)):
            output = outputs.latencies[row]
            noise_sd = noise_of(outputs.names[output], measurement) * mixture.noise_scale(output)
            least = means[row] + _FALL_SURPRISE * math.sqrt(variances[row] + noise_sd**2)
            if is_over and math.log(measurement[limit.quantity]) > least:
                return True
        return False

    return frozenset(filter(is_disbelieved, misses))


def _doubtful(observations: Sequence[Observation], slo: Slo) -> frozenset[int]:
    """Windows that were much faster than most, but the first, of the fastest setting, unless another one agrees.

    While nothing else meets the SLO there is none: an island is as unlikely as a fluke, and it is what is looked for.
    """
    shown = {
        i: max(o.measurement[limit.quantity] / limit.limit_us for limit in slo.limits)
        for i, o in enumerate(observations)
        if not o.measurement.censored and all(limit.quantity in o.measurement.quantities for limit in slo.limits)
    }
    if len(shown) < 2:
        return frozenset()
    least = _FLUKE_RATIO * median(shown.values())
    doubtful = {i for i, worst in shown.items() if i > 0 and worst < least}
    for i in sorted(doubtful):
        key = setting_key(observations[i].setting)
        again = (shown[j] for j in shown.keys() - {i} if setting_key(observations[j].setting) == key)
        if any(other < shown[i] / _FLUKE_RATIO for other in again):
            doubtful.remove(i)
    is_known = any(o.meets(slo) for i, o in enumerate(observations) if i not in doubtful)
    return frozenset(doubtful) if is_known else frozenset()


def _is_fluke(measurement: Measurement, slo: Slo, means: Array, variances: Array) -> bool:
    """Whether everything else contradicts each latency: then it teaches nothing, and no setting is held for it."""
    shown_us = [max(measurement[limit.quantity], _LEAST_US) for limit in slo.limits]
    below = means - np.log(shown_us)
    return bool((below > np.maximum(_FALL_SURPRISE * np.sqrt(variances), -math.log(_FLUKE_RATIO))).all())


def _fit_bounded(
    outputs: Outputs, observations: Sequence[Observation], inputs: Inputs, slo: Slo, falls: AbstractSet[int]
) -> Mixture:
    """The model that contradicts no censored observation.

    "At least this latency" tells nothing where the model expects more anyway. Where it expects less, the bound is
    taken for the latency: the most likely value of those that are possible (an active set, as in bounded least
    squares). What was added stays, so that this ends. Of several latencies it is that one which was furthest over its
    limit. A fall is a bound as well while nothing has met the SLO: there is no edge yet to stay away from.
    """
    bounded = {i for i, o in enumerate(observations) if o.measurement.censored}
    if falls and not any(o.meets(slo) for o in observations):
        bounded |= falls
    least = {i: _bound(outputs, observations[i].measurement, slo) for i in sorted(bounded)}
    active: Mapping[int, tuple[int, float]] = least if len(least) == len(observations) else {}
    while True:
        mixture = _mix(outputs, outputs.data(observations, inputs, active, falls))
        open_ = [i for i in least if i not in active]
        if not open_:
            return mixture
        means = mixture.predict(inputs.rows(np.array(open_)), outputs.latencies).mean_all
        expected = [dict(zip(outputs.latencies, column, strict=True)) for column in means.T]
        violations = {
            i: least[i] for i, by_output in zip(open_, expected, strict=True) if by_output[least[i][0]] < least[i][1]
        }
        if not violations:
            return mixture
        active = {**active, **violations}


def _bound(outputs: Outputs, measurement: Measurement, slo: Slo) -> tuple[int, float]:
    """An output, and the logarithm of the least that a window which was cut short, or fell, leaves possible for it."""
    shown = [(measurement.get(limit.quantity) or 0.0) / limit.limit_us for limit in slo.limits]
    worst = shown.index(max(shown))
    limit_us, quantity = slo.limits[worst].limit_us, slo.limits[worst].quantity
    return outputs.latencies[worst], math.log(max(measurement.get(quantity) or 0.0, limit_us))


def _mix(outputs: Outputs, data: Data) -> Mixture:
    """All hypotheses about how far the prior and the reported latencies are off, each with its probability.

    Where a class of servers is known, its prior and the one for any server are hypotheses, too: a wrong class explains
    what is measured worse, and is voted out.
    """
    judged = [judged for only, likely in outputs.hypotheses for judged in _judge_all(only, data, likely)]
    highest = max(score for _, score in judged)
    members = [(posterior, math.exp(score - highest)) for posterior, score in judged]
    return Mixture(members, least=_LEAST_WEIGHT)


def _judge_all(outputs: Outputs, data: Data, likely: float) -> Iterator[tuple[Posterior, float]]:
    """Every hypothesis with one prior, and its score.

    The outputs share the size of the residual: where the formulas fit utilization and power well, they are worth more
    trust in the latency. The noise of each is its own: a utilization that shows other work says nothing of latencies.
    """
    linearisation = Linearisation(AnchoredMean(outputs, data), outputs.kernels(), data)
    count = len(outputs.names)
    reported = (1.0,) * count
    linearisation.relinearise(Scales((1.0,) * count, reported))
    first = [_judge(linearisation, s, prior) for s, prior in _hypotheses(outputs, reported)]
    best = max(first, key=lambda j: j[1])[0].scales
    noise = _likeliest_noise(linearisation, best)
    linearisation.relinearise(Scales(best.residual, noise))
    return (_judge(linearisation, s, likely * prior) for s, prior in _hypotheses(outputs, noise))


def _hypotheses(outputs: Outputs, noise: tuple[float, ...]) -> Iterator[tuple[Scales, float]]:
    """Every size of all residuals and of the latency's noise, with its prior probability."""
    for (residual, likely), (of_latency, as_likely) in product(outputs.residual.items(), _NOISE_SCALES.items()):
        yield Scales((residual,) * len(noise), _with(noise, LATENCY, of_latency)), likely * as_likely


def _likeliest_noise(linearisation: Linearisation, scales: Scales) -> tuple[float, ...]:
    """The noise of each output that explains the data best, the others' as they are."""
    for output in range(len(scales.noise)):
        choices = [
            _judge(linearisation, replace(scales, noise=_with(scales.noise, output, scale)), prior)
            for scale, prior in _OWN_NOISE_SCALES.items()
        ]
        scales = max(choices, key=lambda c: c[1])[0].scales
    return scales.noise


def _with(values: tuple[float, ...], index: int, value: float) -> tuple[float, ...]:
    return (*values[:index], value, *values[index + 1 :])


def _judge(linearisation: Linearisation, scales: Scales, prior: float) -> tuple[Posterior, float]:
    posterior = Posterior(linearisation, scales)
    return posterior, posterior.log_evidence + math.log(prior)
