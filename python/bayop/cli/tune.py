"""`bayop tune`: one search, watched."""

from __future__ import annotations

import argparse
from typing import Final

from bayop.cli import arguments
from bayop.cli.output import print_json, round_significant
from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.optimize import OPTIMIZERS, make_optimizer
from bayop.optimize.base import Problem
from bayop.search import Result, Trial, check_problem, run_search
from bayop.slo import Slo
from bayop.space import Setting, Space
from bayop.target.base import Target

EXAMPLE: Final = """\
  bayop tune --load 400kqps --slo 'p99<200us' --only cpu.freq_mhz
  bayop tune --profile ebbrt-silo --load 100kqps --objective edp --json
  bayop tune --target study --data study_memcached.csv --load 600kqps
"""

# What only one kind of target can be told.
_FLAGS_OF: Final = {"study": ("data", "os"), "twin": ("profile",)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument("--target", choices=("study", "twin"), default="twin", help="what is tuned (default: twin)")
    parser.add_argument(
        "--data", type=arguments.reader(arguments.path, "--data"), metavar="FILE", help="study: the CSV file of trials"
    )
    parser.add_argument("--os", help="study: the operating system, such as linux or ebbrt (default: linux)")
    parser.add_argument("--profile", metavar="NAME|FILE", help="twin: the server (default: linux-memcached)")
    arguments.add_load(parser)
    arguments.add_slo(parser)
    arguments.add_objective(parser)
    knobs = parser.add_mutually_exclusive_group()
    knobs.add_argument(
        "--only", action="append", metavar="KNOB", help="search this knob alone; the rest stays auto (repeatable)"
    )
    knobs.add_argument(
        "--with-auto", action="store_true", help="let the search also leave a knob to the operating system"
    )
    parser.add_argument(
        "--optimizer", choices=tuple(OPTIMIZERS), default="grey-box", help="what chooses trials (default: grey-box)"
    )
    parser.add_argument(
        "--max-trials",
        type=arguments.reader(arguments.positive, "--max-trials"),
        default=15,
        metavar="N",
        help="trial budget (default: 15)",
    )
    arguments.add_seed(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Searches and leaves the best setting applied; 1 when no setting is trusted to meet the SLO."""
    target = _make_target(args)
    problem = Problem(_search_space(target, args), args.slo, arguments.objective_of(args), target.qps)
    check_problem(target, problem, args.max_trials)
    optimizer = make_optimizer(args.optimizer, problem, seed=args.seed)
    baseline = target.baseline()
    if args.json:
        print_json(
            {
                "event": "start",
                "target": target.name,
                "space": problem.space.describe(),
                "slo": str(args.slo),
                "objective": args.objective,
                "seed": args.seed,
            }
        )
        result = run_search(
            target,
            problem,
            optimizer,
            max_trials=args.max_trials,
            on_trial=lambda t: print_json(_trial_event(t, args.slo)),
        )
        print_json(_result_event(result, baseline, args.slo))
    else:
        from bayop.cli.tune_display import show_search

        result = show_search(target, problem, optimizer, baseline, max_trials=args.max_trials)
    return 0 if result.setting is not None else 1


def _make_target(args: argparse.Namespace) -> Target:
    for target, flags in _FLAGS_OF.items():
        for flag in flags:
            value = getattr(args, flag)
            if value is not None and target != args.target:
                raise InputError(
                    f"only a {target} has this flag", value=str(value), place=f"--{flag}", hint=f"add --target {target}"
                )
    if args.target == "study":
        if args.data is None:
            raise InputError("a study target needs its file", place="--data", hint="--data FILE, a CSV of trials")
        from bayop.target.study import StudyTarget

        return StudyTarget(args.data, os=args.os or "linux", qps=args.load, seed=args.seed)
    from bayop.target.twin import TwinTarget

    return TwinTarget.from_profile(args.profile or "linux-memcached", qps=args.load, seed=args.seed)


def _search_space(target: Target, args: argparse.Namespace) -> Space:
    space = target.space
    if args.only:
        return arguments.reader(space.only, "--only")(args.only)
    if args.with_auto and not any(knob.auto for knob in space.knobs):
        raise InputError(
            "the target has a knob that can be left to the operating system",
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
        "measured": _summary(trial.measurement, slo),
        "meets_slo": trial.meets_slo,
        "incumbent": _plain(trial.incumbent),
        "chosen_in_s": round_significant(trial.chosen_in_s, 3),
    }


def _result_event(result: Result, baseline: Measurement | None, slo: Slo) -> dict[str, object]:
    prediction = result.prediction
    return {
        "event": "result",
        "setting": _plain(result.setting),
        "trials": len(result.trials),
        "stopped": result.stopped,
        "predicted": None
        if prediction is None
        else {k: round_significant(v) for k, v in prediction.quantities.items()},
        "default": None if baseline is None else _summary(baseline, slo),
    }


def _summary(measurement: Measurement, slo: Slo) -> dict[str, float]:
    names = ("power_w", slo.quantity, "utilization", "qps")
    return {name: round_significant(value) for name in names if (value := measurement.get(name)) is not None}


def _plain(setting: Setting | None) -> dict[str, float | str] | None:
    return None if setting is None else dict(setting)
