"""How each core spends its time over load, with and without the balancer of awakened requests ([Y] Figs. 3 and 6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bayop import _core
from bayop.errors import InputError
from bayop.experiments.idle.policy import BALANCERS, Policy
from bayop.experiments.idle.record import CoreUse, is_overloaded


def core_use(
    profile: _core.Profile, governor: str | None, loads: Sequence[float], *, requests: int, seed: int, threads: int
) -> Iterator[Sequence[CoreUse]]:
    """For each load in requests/s, without the balancer and with it.

    Args:
        profile: The server.
        governor: Of idle states; None is the profile's own.
        loads: In requests/s.
        requests: Simulated in a window.
        seed: The same seed gives the same numbers.
        threads: Windows that are simulated at once; no number depends on it.

    Raises:
        InputError: the profile has no such governor, can't have the balancer, or takes no request rate.
    """
    policies = [Policy(balancer, governor, balancer) for balancer in BALANCERS]
    for qps in loads:
        try:
            runs = [policy.run(profile, qps, requests=requests, seed=seed) for policy in policies]
            windows = _core.simulate(profile, runs, threads=threads)
        except _core.Error as error:
            raise InputError.of(error) from error
        yield [
            CoreUse(
                qps,
                policy.balancer,
                window["power_w"],
                window["core_idle_residency"],
                window["qps"],
                is_overloaded(qps, window["qps"], window["duration_s"]),
            )
            for policy, window in zip(policies, windows, strict=True)
        ]
