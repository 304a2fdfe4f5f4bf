"""A day of changing load under idle governors on the twin, beside what was published of it ([Y] Fig. 8)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from bayop import _core
from bayop.errors import InputError
from bayop.experiments.idle.policy import BAYOP, MENU, OFF, YAWN
from bayop.experiments.idle.record import Shown, Step, Window, is_overloaded
from bayop.load.curve import LoadCurve
from bayop.slo import Slo
from bayop.twin.windows import simulate
from bayop.units import HOUR_S

POLICIES: Final = (MENU, OFF, YAWN, BAYOP)
"""What [Y] compares, and BayOp's governor with the same balancer."""


def steps_of_curve(curve: LoadCurve) -> list[Step]:
    """The hours of a load curve."""
    return [Step(hour * HOUR_S, HOUR_S, qps) for hour, qps in enumerate(curve.hourly_qps)]


def is_published_trace(name_or_file: str) -> bool:
    """Whether this is a file with the columns of yawn_trace_by_minute.csv, rather than a load curve."""
    from bayop.study.published.yawn import LAYOUT

    try:
        with Path(name_or_file).open(encoding="utf-8") as file:
            header = file.readline().strip().split(",")
    except (OSError, UnicodeError):
        return False
    return set(LAYOUT.marks) <= set(header)


def steps_of_trace(path: Path, slo: Slo) -> list[Step]:
    """The minutes of [Y]'s trace, yawn_trace_by_minute.csv, with what was published of each.

    Raises:
        InputError: the file breaks a rule of its layout, does not have the SLO's quantile, or its governors did not
            serve the same rates.
    """
    import polars as pl

    from bayop.study import open_study

    frame = open_study(path)
    if slo.quantity not in frame.columns:
        raise InputError(
            wrong=f"the trace has no {slo.quantity}", value=slo.quantity, parameter="slo", hint="such as p99"
        )
    governor = pl.when(pl.col("asked.idle.disable") == "on").then(pl.lit(OFF.published))
    frame = frame.with_columns(governor=governor.otherwise(pl.col("asked.idle.governor").fill_null(MENU.published)))
    of = {str(name): rows for (name,), rows in frame.group_by("governor", maintain_order=True)}
    rates = [rows["qps_offered"].to_list() for rows in of.values()]
    if any(other != rates[0] for other in rates):
        raise InputError(
            "all governors must serve the same rates in the same order",
            wrong="the governors of the trace can't be compared",
            place=str(path),
        )
    shown = {name: list(map(Shown, rows["power_w"], rows[slo.quantity])) for name, rows in of.items()}
    lengths_s = next(iter(of.values()))["duration_s"].to_list()
    starts_s = np.cumsum([0.0, *lengths_s[:-1]])
    return [
        Step(float(starts_s[i]), length_s, qps, {name: all_[i] for name, all_ in shown.items()})
        for i, (length_s, qps) in enumerate(zip(lengths_s, rates[0], strict=True))
    ]


def play_day(
    profile: _core.Profile, steps: Sequence[Step], slo: Slo, *, requests: int, seed: int, threads: int
) -> Iterator[list[Window]]:
    """Every step under each of `POLICIES`, one after the other.

    A step is as long as `requests` take to arrive and counts for its whole time: the load is constant within it.

    Args:
        profile: The server.
        steps: The day.
        slo: Whose quantile of the latency is shown.
        requests: Simulated in each window.
        seed: The same seed gives the same numbers; every step has its own arrivals, the same under each policy.
        threads: Windows that are simulated at once; no number depends on it.

    Raises:
        InputError: the profile can't have one of the policies, or takes no request rate.
    """
    seeds = np.random.SeedSequence(seed).generate_state(len(steps), np.uint64)
    for step, own_seed in zip(steps, seeds, strict=True):
        runs = [policy.run(profile, step.qps, requests=requests, seed=int(own_seed)) for policy in POLICIES]
        windows = simulate(profile, runs, threads=threads)
        yield [
            Window(
                policy.name,
                step,
                Shown(
                    window["power_w"],
                    window[slo.quantity],
                    window.cut_short,
                    window["qps"],
                    is_overloaded(step.qps, window["qps"], window["duration_s"]),
                ),
                step.published.get(policy.published or ""),
            )
            for policy, window in zip(POLICIES, windows, strict=True)
        ]
