"""`bayop tune`: one search, watched."""

from __future__ import annotations

import argparse
from typing import Final

from bayop.cli import arguments
from bayop.cli.output import print_json, round_significant
from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.objective import OBJECTIVES, Objective
from bayop.optimize import OPTIMIZERS, make_optimizer
from bayop.optimize.base import Problem
from bayop.search import Result, Trial, check_problem, run_search
from bayop.slo import Slo
from bayop.space import Setting, Space
from bayop.target.base import Target

EXAMPLE: Final = """\
  bayop tune --target study --data study_memcached.csv --os linux --load 600000 --slo 'p99<500us'
  bayop tune --target twin --profile linux-memcached --load 400kqps --slo 'p99<200us' --only cpu.freq_mhz
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument("--target", choices=("study", "twin"), default="twin", help="what is tuned (default: twin)")
    parser.add_argument("--data", type=arguments.path, metavar="FILE", help="study: the CSV file of trials")
    parser.add_argument("--os", default="linux", help="study: the operating system, linux or ebbrt (default: linux)")
    parser.add_argument(
        "--profile",
        default="linux-memcached",
        metavar="NAME|FILE",
        help="twin: the server (default: linux-memcached)",
    )
    parser.add_argument(
        "--load",
        type=arguments.reader(arguments.qps, "--load"),
        required=True,
        help="offered load, requests/s",
    )
    arguments.add_slo(parser)
    parser.add_argument(
        "--objective",
        default="power",
        help=f"what is minimised: {', '.join(OBJECTIVES)}, "
        "or an expression such as 'power_w * p99_us' (default: power)",
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="KNOB",
        help="search this knob alone; the rest stays auto (repeatable)",
    )
    parser.add_argument(
        "--with-auto", action="store_true", help="let the search also leave a knob to the operating system"
    )
    parser.add_argument("--optimizer", choices=tuple(OPTIMIZERS), default="grey-box", help="default: grey-box")
    parser.add_argument(
        "--max-trials",
        type=arguments.reader(arguments.positive, "--max-trials"),
        default=15,
        help="trial budget (default: 15)",
    )
    arguments.add_seed(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Searches and leaves the best setting applied; 1 when no setting is trusted to meet the SLO."""
    target = _make_target(args)
    objective = Objective.parse(args.objective, args.slo)
    problem = Problem(_search_space(target.space, args), args.slo, objective, target.qps)
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
    if args.target == "study":
        if args.data is None:
            raise InputError("a study target needs its file", place="--data", hint="--data FILE, a CSV of trials")
        from bayop.target.study import StudyTarget

        return StudyTarget(args.data, os=args.os, qps=args.load, seed=args.seed)
    from bayop.target.twin import TwinTarget

    return TwinTarget.from_profile(args.profile, qps=args.load, seed=args.seed)


def _search_space(space: Space, args: argparse.Namespace) -> Space:
    if args.only:
        return space.only(args.only)
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
