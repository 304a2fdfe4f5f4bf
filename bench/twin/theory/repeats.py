"""Seeds and threads: independent seeds agree, and nothing but the seed matters."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from bayop import _core
from bayop.twin.profile_library import load_profile

from .law import Experiment, Law, Row
from .queues import SERVICE_US
from .server import load, number, server


def experiments() -> Iterator[Experiment]:
    """Two disjoint sets of seeds in ratio."""
    busy = 0.7
    window = load(1e6 * busy / SERVICE_US, requests=2_000_000)
    profile = server({"os.dispatch": "run-to-completion"}, request_us=SERVICE_US, service_exponential_share=1.0)
    yield Experiment(
        what=f"M/M/1, load {busy}, seeds against others",
        profile=profile,
        windows=(window, window),
        laws=(
            Law(
                quantity="mean / mean",
                theory=1.0,
                read=lambda windows: number(windows[0], "mean_us") / number(windows[1], "mean_us"),
            ),
        ),
    )


def same_on_any_threads(seed: int) -> Row:
    """The share of windows that one thread and three measure alike, to the last bit."""
    runs: list[_core.Run] = [
        {**load(300_000.0, requests=5_000, rx_usecs=50.0, freq_mhz=None), "seed": seed + index} for index in range(8)
    ]
    profile = load_profile("linux-memcached")
    one, three = (_core.simulate(profile, runs, threads=threads) for threads in (1, 3))
    same = statistics.fmean(a == b for a, b in zip(one, three, strict=True))
    return Row(
        what="memcached, one thread against three",
        quantity="share of windows that are the same",
        theory="1",
        twin=same,
        error_pct=100 * (same - 1.0),
        confidence_pct=None,
        holds=same == 1.0,
    )
