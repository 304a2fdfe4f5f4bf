"""`bayop tune`: one search, watched."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Final

from bayop.cli.flags import arguments, live_agent, live_file
from bayop.cli.flags import confirm as confirm_flags
from bayop.cli.flags import target as target_flags
from bayop.cli.terminal import exit_codes
from bayop.cli.terminal.output import print_json
from bayop.cli.tune import events
from bayop.cli.tune.outcome import Outcome, doubts, outcome_of
from bayop.confirm import Comparison, Round, confirm
from bayop.errors import InputError
from bayop.explain import Explanation, explain
from bayop.live.doubts import other_load
from bayop.optimize import OPTIMIZERS, make_optimizer
from bayop.optimize.base import Optimizer, Problem
from bayop.prior_file import PriorFile
from bayop.relative_slo import slo_against
from bayop.saving import Looks
from bayop.search import Trial, check_problem, run_search
from bayop.space import Setting, Space
from bayop.target.base import Target

EXAMPLE: Final = """\
  bayop tune --load 400kqps --slo 'p99<200us' --only cpu.freq_mhz
  bayop tune --profile ebbrt-silo --load 100kqps --objective edp --json
  bayop tune --target study --data example:memcached --load 600kqps --slo 'p99<500us' --slo 'p50<1.5*default'
  bayop tune --target study --data example:silo --load 200kqps --prior caches.prior.toml
  bayop tune --target agent:unix:/run/bayop/agent.sock --latency ./p99.sh --slo 'p99<500us'
  bayop tune --target live.toml --slo 'p99<500us' --keep
  bayop tune --target live.toml --slo 'p99<500us' --hold 60 --keep
"""

_MOST_WINDOWS: Final = 100_000
_MODEL: Final = "grey-box"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    target_flags.add_target(parser)
    live_agent.add_arguments(parser)
    arguments.add_load(parser, required=False)
    arguments.add_slos(parser)
    arguments.add_headroom(parser)
    arguments.add_objective(parser)
    knobs = parser.add_mutually_exclusive_group()
    knobs.add_argument(
        "--only", action="append", metavar="KNOB", help="search this knob alone; the rest stays auto (repeatable)"
    )
    knobs.add_argument(
        "--with-auto", action="store_true", help="let the search also leave a knob to the operating system"
    )
    parser.add_argument(
        "--range",
        action="append",
        type=arguments.reader(arguments.knob_range, "--range"),
        metavar="KNOB=LOW:HIGH[:STEP]",
        help="search these values of a knob, such as nic.rx_usecs=2:402:20 (repeatable)",
    )
    parser.add_argument(
        "--optimizer", choices=tuple(OPTIMIZERS), default="grey-box", help="what chooses trials (default: grey-box)"
    )
    parser.add_argument(
        "--prior",
        type=arguments.reader(arguments.path, "--prior"),
        metavar="FILE",
        help="what servers like this one have taught, from bayop fit --prior (default: what holds for any server)",
    )
    parser.add_argument(
        "--small-steps",
        action=argparse.BooleanOptionalAction,
        help="let the first trials go at most half-way to the SLO's limit (default: on a live machine)",
    )
    arguments.add_max_trials(parser)
    parser.add_argument(
        "--hold",
        type=arguments.reader(arguments.whole_number(0, _MOST_WINDOWS), "--hold"),
        default=0,
        metavar="N",
        help="after the search, hold what it found for N windows and polish it: a neighbour that has become almost "
        "surely better and safe is held instead (default: 0)",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="say what the model expects of the settings around the result, knob by knob",
    )
    confirm_flags.add_arguments(parser)
    arguments.add_seed(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Searches and leaves the best setting applied; 1 when none is trusted to meet the SLO, or none saves for sure."""
    _check_flags(args)
    if args.dry_run:
        is_file = target_flags.kind(args.target) == "file"
        return live_file.show_dry_run(args) if is_file else live_agent.show_dry_run(args)
    asked = arguments.slos_of(args)
    with target_flags.open_target(args, asked) as target:
        default = target.baseline()
        slo = arguments.reader(partial(slo_against, default=default), "--slo")(asked)
        problem = Problem(
            _search_space(target, args),
            slo,
            arguments.objective_of(args, slo),
            target.qps,
            headroom=_headroom(args),
            small_steps=target.is_live if args.small_steps is None else args.small_steps,
            default=default,
            server_class=None if args.prior is None else PriorFile.read(args.prior).server_class,
        )
        check_problem(target, problem, args.max_trials)
        return _search(target, problem, args)


def _headroom(args: argparse.Namespace) -> float:
    if args.headroom is None and target_flags.kind(args.target) == "file":
        return live_file.headroom_of(args)
    return args.headroom or 0.0


def _search(target: Target, problem: Problem, args: argparse.Namespace) -> int:
    optimizer = make_optimizer(args.optimizer, problem, seed=args.seed)
    looks = confirm_flags.looks_of(args, is_live=target.is_live)
    display = (_Events if args.json else _display())(target, problem, args, _doubts(target, problem))
    with display.searching():
        result = run_search(
            target,
            problem,
            optimizer,
            max_trials=args.max_trials,
            hold=args.hold,
            on_trial=display.on_trial,
            on_window=display.on_window,
        )

    def compare(setting: Setting, looks: Looks) -> Comparison:
        with display.comparing(looks):
            return confirm(target, setting, problem, looks, seed=args.seed, on_round=display.on_pair)

    outcome = outcome_of(result, looks, compare)
    undo = _let_go(target, outcome, keep=args.keep)
    explanation = _explain(args, problem, outcome, optimizer)
    display.on_end(outcome, undo=undo, explanation=explanation, doubts=_doubts(target, problem, outcome))
    if outcome.is_worth_holding:
        return exit_codes.DONE
    return exit_codes.INTERRUPTED if outcome.result.stopped == "interrupted" else exit_codes.NO_GOOD


class _Events:
    """The search for programs: one JSON object a line."""

    def __init__(self, target: Target, problem: Problem, args: argparse.Namespace, doubts: Sequence[str]) -> None:
        self._problem = problem
        print_json(
            {
                "event": "start",
                "target": target.name,
                "description": target.description,
                "estimated": sorted(target.estimated),
                "space": problem.space.describe(),
                "slo": str(problem.slo),
                "headroom": problem.headroom,
                "small_steps": problem.small_steps,
                "objective": args.objective,
                "seed": args.seed,
                "warnings": doubts,
            }
        )

    def searching(self) -> AbstractContextManager[None]:
        return nullcontext()

    def on_trial(self, trial: Trial) -> None:
        print_json(events.of_trial(trial, self._problem.slo))

    def on_window(self, window: Trial) -> None:
        print_json(events.of_trial(window, self._problem.slo, "window"))

    def comparing(self, _looks: Looks) -> AbstractContextManager[None]:
        return nullcontext()

    def on_pair(self, number: int, pair: Round) -> None:
        print_json(events.of_pair(number, pair, self._problem.slo))

    def on_end(
        self, outcome: Outcome, *, undo: str | None, explanation: Explanation | None, doubts: Sequence[str]
    ) -> None:
        for event in () if explanation is None else events.of_explanation(explanation):
            print_json(event)
        print_json(events.of_result(outcome, self._problem.default, self._problem, undo=undo) | {"warnings": doubts})


def _display() -> Any:  # noqa: ANN401 -- of the same shape as `_Events`
    from bayop.cli.tune.display import Display  # `--json` must not pay for rich

    return Display


def _explain(args: argparse.Namespace, problem: Problem, outcome: Outcome, optimizer: Optimizer) -> Explanation | None:
    """Why the search found what it found; None where nobody asks, or nothing, or only the default was found."""
    result = outcome.result
    if not args.explain or result.setting is None or result.is_default:
        return None
    return explain(problem, result.setting, optimizer.predict)


def _let_go(target: Target, outcome: Outcome, *, keep: bool) -> str | None:
    """Ends the search's hold on a live machine; the command that takes back what stays applied to one."""
    if keep and outcome.is_worth_holding and not outcome.result.is_default:
        return target.keep()
    if target.is_live:
        target.restore()
    return None


def _doubts(target: Target, problem: Problem, outcome: Outcome | None = None) -> list[str]:
    """What makes the numbers doubtful, of a live machine as the comparison has shown it, else as the default did."""
    if not target.is_live:
        return list(target.doubts)
    if outcome is not None and outcome.comparison is not None:
        return [*target.doubts, *doubts(outcome.comparison, target.qps)]
    default = problem.default
    return [*target.doubts, *other_load(None if default is None else default.get("qps"), target.qps)]


def _check_flags(args: argparse.Namespace) -> None:
    for flag, does, given in (("--explain", "explains", args.explain), ("--prior", "has a prior", args.prior)):
        if given and args.optimizer != _MODEL:
            raise InputError(
                f"what {does} must be the model of {_MODEL}",
                value=args.optimizer,
                place=flag,
                hint=f"leave {flag} out, or use --optimizer {_MODEL}",
            )
    target_flags.check_flags(args)


def _search_space(target: Target, args: argparse.Namespace) -> Space:
    space = target.space.within(dict(args.range or ()))
    if args.only:
        return arguments.reader(space.only, "--only")(args.only)
    target_flags.check_auto(args, space)
    return space if args.with_auto else space.without_auto()
