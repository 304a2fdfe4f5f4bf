"""`bayop tune`: one search, watched."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Final

from bayop.cli.flags import agent as agent_flags
from bayop.cli.flags import arguments, live_agent, live_file
from bayop.cli.flags import target as target_flags
from bayop.cli.terminal import exit_codes
from bayop.cli.terminal.output import print_json, round_significant
from bayop.cli.tune import confirm
from bayop.cli.tune.confirm import Outcome, summary
from bayop.errors import InputError
from bayop.live.target import AgentTarget
from bayop.measurement import Measurement
from bayop.optimize import OPTIMIZERS, make_optimizer
from bayop.optimize.base import Problem
from bayop.search import Trial, check_problem, run_search
from bayop.slo import Slo
from bayop.space import Setting, Space
from bayop.target.base import Target

EXAMPLE: Final = """\
  bayop tune --load 400kqps --slo 'p99<200us' --only cpu.freq_mhz
  bayop tune --profile ebbrt-silo --load 100kqps --objective edp --json
  bayop tune --target study --data example:memcached --load 600kqps
  bayop tune --target agent:unix:/run/bayop/agent.sock --latency ./p99.sh --slo 'p99<500us'
  bayop tune --target live.toml --slo 'p99<500us' --keep
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    target_flags.add_target(parser)
    live_agent.add_arguments(parser)
    arguments.add_load(parser, required=False)
    arguments.add_slo(parser)
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
        "--small-steps",
        action=argparse.BooleanOptionalAction,
        help="let the first trials go at most half-way to the SLO's limit (default: on a live machine)",
    )
    arguments.add_max_trials(parser)
    confirm.add_arguments(parser)
    arguments.add_seed(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Searches and leaves the best setting applied; 1 when none is trusted to meet the SLO, or none saves for sure."""
    _check_flags(args)
    if args.dry_run:
        is_file = target_flags.kind(args.target) == "file"
        return live_file.show_dry_run(args) if is_file else live_agent.show_dry_run(args)
    with target_flags.open_target(args) as target:
        problem = Problem(
            _search_space(target, args),
            args.slo,
            arguments.objective_of(args),
            target.qps,
            headroom=_headroom(args),
            small_steps=isinstance(target, AgentTarget) if args.small_steps is None else args.small_steps,
        )
        check_problem(target, problem, args.max_trials)
        return _search(target, problem, args)


def _headroom(args: argparse.Namespace) -> float:
    if args.headroom is None and target_flags.kind(args.target) == "file":
        return live_file.headroom_of(args)
    return args.headroom or 0.0


def _search(target: Target, problem: Problem, args: argparse.Namespace) -> int:
    optimizer = make_optimizer(args.optimizer, problem, seed=args.seed)
    baseline = target.baseline()
    looks = confirm.looks_of(args, is_live=isinstance(target, AgentTarget))
    if args.json:
        print_json(
            {
                "event": "start",
                "target": target.name,
                "description": target.description,
                "estimated": ["energy_j", "power_w"] if _is_estimated(target) else [],
                "space": problem.space.describe(),
                "slo": str(args.slo),
                "headroom": problem.headroom,
                "small_steps": problem.small_steps,
                "objective": args.objective,
                "seed": args.seed,
                "warnings": _doubts(target),
            }
        )
        result = run_search(
            target,
            problem,
            optimizer,
            max_trials=args.max_trials,
            on_trial=lambda t: print_json(_trial_event(t, args.slo)),
        )
        compare = partial(confirm.confirm_json, problem=problem, seed=args.seed)
        outcome = confirm.outcome_of(target, result, looks, compare)
        held = _let_go(target, outcome, keep=args.keep)
        event = _result_event(outcome, baseline, problem, held=held) | {"warnings": _doubts(target, outcome)}
        print_json(event | {"undo": _undo(target) if held else None})
    else:
        from bayop.cli.tune.display import print_doubts, print_summary, print_undo, show_search

        watts = "W (estimated)" if _is_estimated(target) else "W"
        print_doubts(_doubts(target))
        result = show_search(target, problem, optimizer, max_trials=args.max_trials, watts=watts)
        compare = partial(confirm.show_confirm, problem=problem, seed=args.seed, watts=watts)
        outcome = confirm.outcome_of(target, result, looks, compare)
        held = _let_go(target, outcome, keep=args.keep)
        is_live = isinstance(target, AgentTarget)
        print_summary(outcome, baseline, problem, held=held, is_live=is_live, watts=watts)
        print_doubts(_doubts(target, outcome))
        if held and (undo := _undo(target)) is not None:
            print_undo(undo)
    if outcome.is_worth_holding:
        return exit_codes.DONE
    return exit_codes.INTERRUPTED if outcome.result.stopped == "interrupted" else exit_codes.NO_GOOD


def _let_go(target: Target, outcome: Outcome, *, keep: bool) -> bool:
    """Ends the search's hold on a live machine; whether the result stays applied to one."""
    if not isinstance(target, AgentTarget):
        return False
    if not outcome.is_worth_holding or not keep:
        target.restore()
        return False
    target.keep()
    return True


def _undo(target: Target) -> str | None:
    return agent_flags.undo(target) if isinstance(target, AgentTarget) else None


def _doubts(target: Target, outcome: Outcome | None = None) -> list[str]:
    """What makes a live machine's numbers doubtful: as the comparison has shown it, else as the default did."""
    if not isinstance(target, AgentTarget):
        return []
    if outcome is None or outcome.comparison is None:
        return target.doubts
    return target.doubts_of_setup + confirm.doubts(outcome.comparison, target.qps)


def _is_estimated(target: Target) -> bool:
    """Whether a model stands in for the power meter, which is said wherever its numbers appear."""
    return isinstance(target, AgentTarget) and target.power_is_estimated


def _check_flags(args: argparse.Namespace) -> None:
    ranged = [knob_id for knob_id, _ in args.range or ()]
    if len(set(ranged)) != len(ranged):
        raise InputError("a knob must have one range", value=", ".join(ranged), place="--range")
    target_flags.check_flags(args)


def _search_space(target: Target, args: argparse.Namespace) -> Space:
    space = target.space
    if not isinstance(target, AgentTarget):
        space = space.within(dict(args.range or ()))
    if args.only and not isinstance(target, AgentTarget):
        return arguments.reader(space.only, "--only")(args.only)
    if args.with_auto and not any(knob.auto for knob in space.knobs):
        raise InputError(
            wrong=f"{target.description} has no knob that can be left to the operating system",
            value=target.description,
            place="--with-auto",
            hint="leave the flag out, or use another target, such as the twin",
        )
    return space if args.with_auto else space.without_auto()


def _trial_event(trial: Trial, slo: Slo) -> dict[str, object]:
    return {
        "event": "trial",
        "trial": trial.number,
        "setting": dict(trial.setting),
        "measured": summary(trial.measurement, slo),
        "meets_slo": trial.meets_slo,
        "cut_short": trial.measurement.cut_short,
        "incumbent": _plain(trial.incumbent),
        "chosen_in_s": round_significant(trial.chosen_in_s, 3),
    }


def _result_event(outcome: Outcome, baseline: Measurement | None, problem: Problem, *, held: bool) -> dict[str, object]:
    result, prediction = outcome.result, outcome.result.prediction
    return {
        "event": "result",
        "setting": _plain(outcome.setting),
        "held": held,
        "trials": len(result.trials),
        "stopped": result.stopped,
        "predicted": None
        if prediction is None
        else {k: round_significant(v) for k, v in prediction.quantities.items()},
        "default": None if baseline is None else summary(baseline, problem.slo),
        "saving": confirm.saving_event(outcome, problem),
    }


def _plain(setting: Setting | None) -> dict[str, float | str] | None:
    return None if setting is None else dict(setting)
