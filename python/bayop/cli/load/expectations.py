"""`bayop load --expect`: limits that make the exit code."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from bayop.cli.load.display import microseconds
from bayop.cli.terminal.output import print_json
from bayop.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bayop.load.expectation import Verdict
    from bayop.load.plan import Plan


def check_flags(args: argparse.Namespace, plan: Plan) -> None:
    """Refuses, before anything is sent, expectations that no result could be compared with.

    Raises:
        InputError: the run has no result of its own, or a share is expected of a load that there is not.
    """
    from bayop.load.expectation import Throughput
    from bayop.load.generator import offered_qps

    if args.expect and (args.search or args.loadonly):
        other = "--search" if args.search else "--loadonly"
        raise InputError(
            "an expectation must be one of a result",
            wrong=f"both --expect and {other} were given",
            place="--expect",
            hint=f"leave out one of them{': a search goes beyond its limit to find it' if args.search else ''}",
        )
    try:
        for expected in args.expect:
            if isinstance(expected, Throughput):
                expected.least_qps(offered_qps(plan))
    except InputError as error:
        raise error.at("--expect") from error


def print_verdicts(verdicts: Iterable[Verdict], *, json: bool, qps: float | None = None) -> bool:
    """Says which expectations were missed, a line each on stderr; with `json` an event for every one on stdout.

    Args:
        verdicts: How the result compares.
        json: Whether programs read.
        qps: The load of a scan at which it was measured.

    Returns:
        Whether all were met.
    """
    all_met = True
    for verdict in verdicts:
        if json:
            print_json({"event": "expectation", "qps": qps, **asdict(verdict)})
        if not verdict.is_met:
            all_met = False
            at = "" if qps is None else f"at {qps:,.0f} requests/s: "
            sys.stderr.write(f"{at}expected {verdict.expectation}, {_measured(verdict)}\n")
    return all_met


def _measured(verdict: Verdict) -> str:
    from bayop.slo import QPS

    if verdict.measured is None:
        return "but it cannot be told: too few requests were answered"
    if verdict.quantity == QPS:
        return f"but {verdict.measured:,.0f} requests/s of {verdict.limit:,.0f} were answered"
    return f"but it was {microseconds(verdict.measured)} us"
