"""The card's throttle, and servers that take all that waits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bayop import _core

from . import polls
from .law import Experiment, Law
from .server import exact, law, load, mean, number, p99, rewritten, server

_INTERVAL_US: Final = 1000.0
_NETWORK_US: Final = (7.3, 102.0, 141.0, 1012.0, 47_000.0)
CONSTANT_BAR: Final = 2e-3
"""Greatest error of a latency that does not vary, as a part of it: the width of a bucket of the twin's histogram."""
_SHOWN: Final = ("mean_us", "p5_us", "p50_us", "p99_us", "p999_us")


def experiments() -> Iterator[Experiment]:
    """Moderation, NAPI's budget, batches, and latencies that do not vary."""
    for packets in (0.1, 1.0, 5.0, 20.0):
        yield _throttled(packets)
    for packets in (57.6, 200.0):
        yield _busy_budget(packets)
    for dispatch in ("run-to-completion", "polling"):
        for poll_us, each_us, packets in ((100.0, 0.0, 1.0), (20.0, 30.0, 0.7)):
            yield _batches(dispatch, poll_us, each_us, packets)
    for network_us in _NETWORK_US:
        yield _constant(network_us)


def _throttled(packets: float) -> Experiment:
    """`packets` arrive in an interval; 20 of them saturate the vector."""
    theory = polls.throttled(packets / _INTERVAL_US, _INTERVAL_US)
    return Experiment(
        what=f"rx_usecs {_INTERVAL_US:g}, {packets:g} packets an interval",
        profile=server({"os.dispatch": "run-to-completion"}),
        windows=(load(1e6 * packets / _INTERVAL_US, requests=1_000_000, rx_usecs=_INTERVAL_US),),
        laws=(law("interrupts/s", "interrupts_per_s", 1e6 * theory.per_time), mean(theory.mean_wait)),
    )


def _busy_budget(packets: float) -> Experiment:
    """NAPI polls again while there is work, so a budget of 64 delays nothing where polls cost nothing."""
    laws = (mean(0.5 * _INTERVAL_US), p99(polls.throttled_quantile(_INTERVAL_US, 0.99)))
    return Experiment(
        what=f"rx_usecs {_INTERVAL_US:g}, steered, budget 64, {packets:g} packets an interval",
        profile=server(),
        windows=(load(1e6 * packets / _INTERVAL_US, requests=500_000, rx_usecs=_INTERVAL_US),),
        laws=laws,
    )


def _batches(dispatch: str, poll_us: float, each_us: float, packets: float) -> Experiment:
    """`packets` arrive in the time that one takes alone."""
    arrivals = packets / (poll_us + each_us)
    theory = polls.batches(arrivals, poll_us, each_us)
    values: dict[str, float | str] = {
        "os.dispatch": dispatch,
        "os.interrupt_kcycles": poll_us,
        "os.poll_kcycles": poll_us,
    }
    return Experiment(
        what=f"batches, {dispatch}, {poll_us:g} us + {each_us:g} us a packet, load {packets:g}",
        profile=rewritten(server(values, request_us=each_us), "hold_responses", "true"),
        windows=(load(1e6 * arrivals, requests=2_000_000),),
        laws=(mean(theory.mean_wait + theory.mean_batch), _busy(dispatch, theory)),
    )


def _busy(dispatch: str, theory: polls.Polls) -> Law:
    return law("utilization", "utilization", 1.0 if dispatch == "polling" else theory.busy_share)


def _constant(network_us: float) -> Experiment:
    """Every latency is the network's; what is shown farthest from it counts."""

    def farthest(window: _core.Measurement) -> float:
        return max((number(window, key) for key in _SHOWN), key=lambda us: abs(us - network_us))

    return Experiment(
        what=f"every latency is {network_us:g} us",
        profile=server({"os.dispatch": "run-to-completion"}, network_us=network_us),
        windows=(load(1000.0, requests=10_000),),
        laws=(exact("mean and quantiles, us", network_us, farthest, bar=CONSTANT_BAR),),
    )
