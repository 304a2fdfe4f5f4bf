"""`bayop tune --confirm`: the winner of a search beside the default, for people and for programs."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

from bayop.cli.flags import arguments
from bayop.cli.terminal.output import console as make_console
from bayop.cli.terminal.output import print_json, progress, round_significant
from bayop.confirm import DEFAULT, FOUND, Comparison, Round, confirm
from bayop.live.doubts import other_load, unsteady_work
from bayop.measurement import Measurement
from bayop.optimize.base import Problem
from bayop.saving import FEWEST_PAIRS, Looks, Saving
from bayop.search import Result
from bayop.slo import Slo
from bayop.space import AUTO, Setting
from bayop.target.base import Target
from bayop.units import HOURS_PER_YEAR

PAIRS: Final = 24
"""The most pairs of windows for a live machine."""

_MOST_PAIRS: Final = 200


@dataclass(frozen=True, slots=True)
class Outcome:
    """A search, and what came of its result.

    Attributes:
        result: The search.
        is_worth_holding: Whether its setting is worth holding, as far as was asked.
        comparison: What measuring it beside the default has shown; None where that was not done.
    """

    result: Result
    is_worth_holding: bool
    comparison: Comparison | None = None

    @property
    def setting(self) -> Setting | None:
        """What the search found, unless the comparison speaks against it."""
        return None if self.comparison is not None and not self.is_worth_holding else self.result.setting


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares `--confirm` and `--no-confirm`."""
    either = parser.add_mutually_exclusive_group()
    add_pairs(either)
    either.add_argument(
        "--no-confirm", dest="confirm", action="store_const", const=0, help="believe what the search found"
    )


def add_pairs(parser: argparse._ActionsContainer, *, default: int | None = None) -> None:
    """Declares `--confirm` alone, where there is always a comparison."""
    usual = f"{PAIRS} on a live machine, none elsewhere" if default is None else default
    parser.add_argument(
        "--confirm",
        type=arguments.reader(arguments.whole_number(FEWEST_PAIRS, _MOST_PAIRS), "--confirm"),
        metavar="PAIRS",
        default=default,
        help="measure default and result again in turns, at most so many pairs of windows, to know what it saves for "
        f"sure (default: {usual})",
    )


def looks_of(args: argparse.Namespace, *, is_live: bool) -> Looks | None:
    """What the flags ask for; None for no confirmation."""
    pairs = args.confirm if args.confirm is not None else PAIRS * is_live
    return Looks(pairs) if pairs else None


def outcome_of(
    target: Target, result: Result, looks: Looks | None, compare: Callable[[Target, Setting, Looks], Comparison]
) -> Outcome:
    """Compares what the search found with the default, where that was asked for and makes sense.

    What was to be compared and was not, because of Ctrl-C, is not kept.
    """
    setting = result.setting
    if looks is None or setting is None or all(value == AUTO for value in setting.values()):
        return Outcome(result, is_worth_holding=setting is not None)
    if result.stopped == "interrupted":
        return Outcome(result, is_worth_holding=False)
    try:
        comparison = compare(target, setting, looks)
    except KeyboardInterrupt:
        return Outcome(replace(result, stopped="interrupted"), is_worth_holding=False)
    return Outcome(result, comparison.is_worth_holding, comparison)


def confirm_json(target: Target, setting: Setting, looks: Looks, *, problem: Problem, seed: int) -> Comparison:
    """The comparison, with an event for every pair."""

    def on_round(number: int, pair: Round) -> None:
        windows = {name: summary(m, problem.slo) | {"cut_short": m.cut_short} for name, m in pair.items()}
        print_json({"event": "pair", "pair": number, **windows})

    return confirm(target, setting, problem, looks, seed=seed, on_round=on_round)


def show_confirm(
    target: Target, setting: Setting, looks: Looks, *, problem: Problem, seed: int, watts: str
) -> Comparison:
    """The comparison, with a progress bar on a terminal, and a line for every pair elsewhere."""
    console = make_console()
    console.print("Measuring the default and the result again, in turns:")
    with progress("pairs, at most", looks.most_pairs) as bar:

        def on_round(number: int, pair: Round) -> None:
            bar.advance()
            if not console.is_terminal:
                console.print(
                    f"pair {number}: " + "; ".join(f"{n} {_window(m, problem, watts)}" for n, m in pair.items())
                )

        return confirm(target, setting, problem, looks, seed=seed, on_round=on_round)


def summary(measurement: Measurement, slo: Slo) -> dict[str, float]:
    """The quantities of a window that a search is about, for programs."""
    names = ("power_w", slo.quantity, "utilization", "qps")
    return {name: round_significant(value) for name in names if (value := measurement.get(name)) is not None}


def doubts(comparison: Comparison, qps: float) -> list[str]:
    """What its windows have shown that makes its numbers doubtful; `qps` is the stated load."""
    default, found = ([r[name] for r in comparison.rounds if not r[name].censored] for name in (DEFAULT, FOUND))
    busy = [u for m in default if (u := m.get("utilization")) is not None]
    loads = [q for m in (*default, *found) if (q := m.get("qps")) is not None]
    return unsteady_work(busy) + (other_load(median(loads), qps) if loads else [])


def saving_event(outcome: Outcome, problem: Problem) -> dict[str, object] | None:
    """The saving of what was found, for programs; None where nothing was compared."""
    event = comparison_event(outcome.comparison, problem)
    setting = outcome.result.setting
    return None if event is None or setting is None else event | {"setting": dict(setting)}


def comparison_event(comparison: Comparison | None, problem: Problem) -> dict[str, object] | None:
    """A comparison for programs.

    Its numbers are `power_w`, `low_w`, `high_w` and `default_w` where power is what is minimised, else `value`, `low`,
    `high` and `default`, in SI units. An end of the interval that is not known is null.
    """
    if comparison is None or comparison.saving is None:
        return None
    event = numbers(comparison.saving)
    if problem.objective.name == "power":
        in_watts = {"value": "power_w", "low": "low_w", "high": "high_w", "default": "default_w"}
        event = {in_watts.get(name, name): value for name, value in event.items()}
    latency_us = {name: _finite(value) for name, value in comparison.latency_us.items()}
    return event | {"verdict": comparison.verdict, problem.slo.quantity: latency_us}


def numbers(saving: Saving) -> dict[str, object]:
    """A saving for programs."""
    return {
        "value": _finite(saving.value),
        "low": _finite(saving.low),
        "high": _finite(saving.high),
        "default": _finite(saving.reference),
        "share": round_significant(saving.share),
        "pairs": saving.pairs,
        "significant": saving.significant,
    }


def sentence(comparison: Comparison, problem: Problem, watts: str) -> str:
    """What the comparison says of the setting, for people."""
    saving, quantile = comparison.saving, problem.slo.quantity.removesuffix("_us")
    if saving is None:
        return "No pair of windows was whole, so that nobody knows what it saves."
    found, default = (f"{comparison.latency_us[n]:.0f} us" for n in (FOUND, DEFAULT))
    if comparison.verdict == "breaks":
        return f"It breaks {problem.slo} when measured again: {quantile} {found} ({saving.pairs} pairs)."
    is_power = problem.objective.name == "power"
    text = saving.describe(unit=watts) if is_power else saving.describe(of=f" of {problem.objective.name}")
    if comparison.verdict == "meets":
        return f"The default breaks {problem.slo} ({quantile} {default}), this setting meets it ({found}). It {text}."
    if comparison.verdict == "not significant":
        return f"No significant saving: it {text}, over {saving.pairs} pairs."
    kwh = f": {saving.value * HOURS_PER_YEAR / 1000:.0f} kWh per server and year at this load"
    more = kwh if is_power else ""
    return f"It {text}{more}. {quantile} {found} after {default}, {saving.pairs} pairs."


def _window(measurement: Measurement, problem: Problem, watts: str) -> str:
    if measurement.cut_short is not None:
        return f"cut short: {measurement.cut_short}"
    return f"{measurement['power_w']:.1f} {watts}, {measurement[problem.slo.quantity]:.0f} us"


def _finite(value: float) -> float | None:
    return round_significant(value) if math.isfinite(value) else None
