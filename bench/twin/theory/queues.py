"""A bare core is a queue: Poisson arrivals, one server, service times as the profile says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from bayop import _core

from . import formulas
from .law import P99_BAR, Experiment, Law
from .server import law, load, mean, mean_of, p99, server

SERVICE_US: Final = 1000.0
"""Mean service time: long, so that the quarter of a microsecond that steering takes at least does not count."""

_REQUESTS: Final = {0.3: 300_000, 0.7: 1_000_000, 0.9: 4_000_000}
"""Requests of every seed by load: the longer queues are, the longer they last."""
_LOG_SDS: Final = {0.4: 1_000_000, 0.8: 2_000_000, 1.5: 8_000_000, 2.0: 12_000_000}
"""The same by the standard deviation of the logarithm of service times."""
_LOG_SD_OF_QUANTILES: Final = 2.0
"""From here on the second moment takes too many requests: its own relative variance is `exp(4 sd^2)`."""


def experiments() -> Iterator[Experiment]:
    """Queues, their limits, and service times alone."""
    for share, kendall in ((1.0, "M/M/1"), (0.0, "M/D/1")):
        for cores, where in ((1, "run to completion"), (16, "16 cores, steered")):
            for busy in _REQUESTS:
                yield _queue(f"{kendall}, {where}, load {busy}", cores, busy, share)
    for log_sd, requests in _LOG_SDS.items():
        yield _log_normal(log_sd, requests)
        yield _service_alone(log_sd)
    yield _mixed("half exponential, half constant", 0.25, {"app.service_exponential_share": 0.5})
    variation = formulas.mixture_variation(0.125, 6.0)
    long = {"app.long_request_share": 0.125, "app.long_request_factor": 6.0}
    yield _mixed("an eighth takes 6 times as long", variation, long)
    yield _pareto_gaps()


def _queue(what: str, cores: int, busy: float, exponential_share: float) -> Experiment:
    dispatch = "run-to-completion" if cores == 1 else "steered"
    profile = server(
        {"os.dispatch": dispatch}, cores=cores, request_us=SERVICE_US, service_exponential_share=exponential_share
    )
    tail_us = (
        formulas.mm1_quantile(SERVICE_US, busy, 0.99)
        if exponential_share
        else formulas.mg1_quantile(SERVICE_US, busy, formulas.constant_survival, 0.99)
    )
    laws: tuple[Law, ...] = (mean(formulas.mg1_mean(SERVICE_US, busy, exponential_share)), p99(tail_us))
    if exponential_share:
        laws += (law("requests in service per core (Little)", "utilization", busy),)
    window = load(1e6 * cores * busy / SERVICE_US, requests=_REQUESTS[busy])
    return Experiment(what=what, profile=profile, windows=(window,), laws=laws)


def _log_normal(log_sd: float, requests: int) -> Experiment:
    """The mean wait shows the second moment of service times; where that takes too many, quantiles show the tail."""
    busy = 0.5
    survival = formulas.log_normal_survival(log_sd)
    tail_us = {q: formulas.mg1_quantile(SERVICE_US, busy, survival, q) for q in (0.9, 0.95, 0.99)}
    tails = (law("p90, us", "p90_us", tail_us[0.9]), law("p95, us", "p95_us", tail_us[0.95], bar=P99_BAR))
    moments = (_second_moment(busy, formulas.log_normal_variation(log_sd)), p99(tail_us[0.99]))
    return Experiment(
        what=f"M/G/1, log-normal, sd {log_sd}, load {busy}",
        profile=server({"os.dispatch": "run-to-completion"}, request_us=SERVICE_US, service_log_sd=log_sd),
        windows=(load(1e6 * busy / SERVICE_US, requests=requests),),
        laws=moments if log_sd < _LOG_SD_OF_QUANTILES else tails,
    )


def _service_alone(log_sd: float) -> Experiment:
    """Hardly any request waits; but of the rare long ones so much longer that the mean shows it."""
    busy, service_us = 1e-4, 10.0
    return Experiment(
        what=f"log-normal service, sd {log_sd}, load {busy:g}",
        profile=server({"os.dispatch": "run-to-completion"}, request_us=service_us, service_log_sd=log_sd),
        windows=(load(1e6 * busy / service_us, requests=500_000),),
        laws=(
            mean(formulas.mg1_mean(service_us, busy, formulas.log_normal_variation(log_sd))),
            law("p50, us", "p50_us", service_us * formulas.log_normal_quantile(log_sd, 0.5)),
            p99(service_us * formulas.log_normal_quantile(log_sd, 0.99)),
        ),
    )


def _mixed(what: str, variation: float, values: dict[str, float]) -> Experiment:
    busy = 0.7
    return Experiment(
        what=f"M/G/1, {what}, load {busy}",
        profile=server({"os.dispatch": "run-to-completion", **values}, request_us=SERVICE_US),
        windows=(load(1e6 * busy / SERVICE_US, requests=3_000_000),),
        laws=(_second_moment(busy, variation),),
    )


def _second_moment(busy: float, variation: float) -> Law:
    """`E[S^2] / E[S]^2`: what the mean wait makes of it (Pollaczek and Khinchine)."""

    def read(windows: Sequence[_core.Measurement]) -> float:
        wait_us = mean_of("mean_us")(windows) - SERVICE_US
        return 2.0 * (1.0 - busy) / busy * wait_us / SERVICE_US

    theory = 1.0 + variation
    return Law(quantity="E[S^2] / E[S]^2 by the wait", theory=theory, read=read)


def _pareto_gaps() -> Experiment:
    busy, shape = 0.7, 0.1545
    values: dict[str, float | str] = {
        "os.dispatch": "run-to-completion",
        "app.arrivals": "generalized-pareto",
        "app.arrival_shape": shape,
    }
    return Experiment(
        what=f"GI/M/1, generalized-Pareto gaps of shape {shape}, load {busy}",
        profile=server(values, request_us=SERVICE_US, service_exponential_share=1.0),
        windows=(load(1e6 * busy / SERVICE_US, requests=3_000_000),),
        laws=(mean(formulas.gim1_pareto_mean(SERVICE_US, busy, shape)),),
    )
