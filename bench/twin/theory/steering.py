"""Requests handed from the interrupted core to the thread of another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from . import formulas
from .law import Experiment
from .queues import SERVICE_US
from .server import law, load, mean, rewritten, server

_STEER_US: Final = 200.0
_SHORT_US: Final = 50.0


def experiments() -> Iterator[Experiment]:
    """How evenly requests fall on cores, and what handing them over takes."""
    for cores in (1, 7, 16, 200):
        yield _even(cores)
    yield _shared_queue()
    for busy in (0.1, 0.5, 0.9):
        yield _delay(busy)
    yield _sum_of_parts()


def _even(cores: int) -> Experiment:
    busy = 0.85
    return Experiment(
        what=f"M/M/1 on each core, steered evenly to {cores}, load {busy}",
        profile=server(cores=cores, request_us=SERVICE_US, service_exponential_share=1.0),
        windows=(load(1e6 * cores * busy / SERVICE_US, requests=2_000_000),),
        laws=(mean(formulas.mg1_mean(SERVICE_US, busy, 1.0)),),
    )


def _shared_queue() -> Experiment:
    """Whichever thread falls idle takes the next request: M/M/c."""
    cores, busy = 16, 0.8
    profile = server(cores=cores, request_us=SERVICE_US, service_exponential_share=1.0)
    return Experiment(
        what=f"M/M/{cores}: one queue for all threads, load {busy}",
        profile=rewritten(profile, "shared_queue", "true"),
        windows=(load(1e6 * cores * busy / SERVICE_US, requests=2_000_000),),
        laws=(mean(formulas.erlang_c_mean(SERVICE_US, busy, cores)),),
    )


def _delay(busy: float) -> Experiment:
    """Most requests or a part of them find their thread idle: the fastest twentieth takes the delay and the service."""
    cores = 16
    return Experiment(
        what=f"steer_us {_STEER_US:g}, constant service {_SHORT_US:g} us, load {busy}",
        profile=server({"os.steer_us": _STEER_US}, cores=cores, request_us=_SHORT_US),
        windows=(load(1e6 * cores * busy / _SHORT_US, requests=1_000_000),),
        laws=(
            law("p5, us", "p5_us", _STEER_US + _SHORT_US),
            mean(_STEER_US + formulas.mg1_mean(_SHORT_US, busy, 0.0)),
        ),
    )


def _sum_of_parts() -> Experiment:
    """One request at a time: two wake-ups with cold caches, interrupt, packet, hand-over, thread, request, network.

    Each part is a different number; those of the kernel cost a tenth more for memory.
    """
    kernel_us = {"interrupt": 2.0, "packet": 0.5, "lone_packet": 1.5, "thread_wake": 3.0}
    lone_us = {"lone_request": 4.0, "per_connection": 6.0}
    values = {
        **{f"os.{name}_kcycles": us for name, us in kernel_us.items()},
        **{f"app.{name}_kcycles": us for name, us in lone_us.items()},
        "os.memory_us_per_kcycle": 0.1,
        "os.steer_us": 5.0,
        "os.idle_loop_us": 14.0,
        "os.idle_loop_on_path_share": 0.5,
        "os.idle_loop_tau_us": 1.0,
        "os.wake_limit_share": 1.0,
        "machine.idle_states.0.wake_us": 11.0,
        "app.request_us": 30.0,
        "app.request_kcycles": 20.0,
        "app.network_us": 25.0,
        "app.network_jitter_us": 0.7,
    }
    parts_us = 1.1 * sum((kernel_us | lone_us).values()) + 5.0 + 2 * (7.0 + 11.0) + 30.0 + 20.0 + 25.0 + 0.7
    return Experiment(
        what="every part of a latency, 128 cores, no queue",
        profile=server(values, cores=128),
        windows=(load(10.0, requests=100_000),),
        laws=(mean(parts_us),),
    )
