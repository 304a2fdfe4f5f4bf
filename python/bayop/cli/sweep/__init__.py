"""`bayop sweep`: every setting of a design measured, into a study."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING, Final

from bayop import __version__
from bayop.cli.sweep import flags
from bayop.cli.sweep.target import Subject, open_subject
from bayop.cli.terminal.output import console, print_json, progress
from bayop.errors import InputError
from bayop.slo import Slo
from bayop.space import format_setting
from bayop.units import format_in_column, round_significant

if TYPE_CHECKING:
    from bayop.experiments.sweep.plan import Plan, Trial
    from bayop.experiments.sweep.run import Sweep
    from bayop.experiments.sweep.trial import Outcome
    from bayop.experiments.sweep.workers import Workers

EXAMPLE: Final = """\
  bayop sweep --load 600kqps --points 9
  bayop sweep --load 200kqps,600kqps --range nic.rx_usecs=2:402:40 --range cpu.freq_mhz=1.3GHz,2.1GHz,2.9GHz
  bayop sweep --profile ebbrt-silo --load 100kqps --design sobol --settings 60 --until-ci 2% --out silo.csv
  bayop sweep --profile linux-netpipe --load 64B,64KB --range nic.rx_usecs=2:42:4 --range cpu.freq_mhz=2.9GHz
  bayop sweep --load 600kqps --ray 10.0.0.1:6379
  bayop sweep --target live.toml --points 5 --repeats 3
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    flags.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Measures what is not yet measured, and writes the study; 0 when that is done."""
    from bayop.experiments.sweep.plan import Plan
    from bayop.experiments.sweep.run import open_sweep

    flags.check_flags(args)
    with open_subject(args) as subject:
        if not (subject.shows_default or args.no_default):
            hint = "add --no-default"
            raise InputError(
                wrong=f"{subject.description} cannot show its default", value=subject.description, hint=hint
            )
        plan = Plan.of(
            flags.settings_of(subject.space, args, seed=args.seed),
            subject.loads,
            target=subject.maker.describe(),
            repeats=flags.repeats_of(args, subject.quantities),
            seed=args.seed,
            version=__version__,
        )
        with open_sweep(plan, subject.maker.origin(plan.study), args.out) as sweep:
            try:
                _run(sweep, plan, subject, args)
            except (KeyboardInterrupt, SystemExit):
                sys.stderr.write(f"what was measured is kept beside {args.out}; the same command goes on from there\n")
                raise
    return 0


def _run(sweep: Sweep, plan: Plan, subject: Subject, args: argparse.Namespace) -> None:
    if args.json:
        print_json(_start_event(sweep, plan, subject, args))
        sweep.run(partial(_workers, subject, args), _print_trial)
        print_json({"event": "result", "trials": sweep.done, "imprecise": sweep.imprecise, "out": str(args.out)})
        return
    screen = console()
    screen.print(f"[bold]Sweeping[/bold] {subject.description}: {len(plan.cells)} cells, {sweep.planned} trials")
    if sweep.done:
        screen.print(f"{sweep.done} of them were measured before.")
    with progress("trials", sweep.planned) as bar:
        bar.reach(sweep.done)

        def show(trial: Trial, outcome: Outcome) -> None:
            bar.reach(sweep.done, of=sweep.planned)
            if not screen.is_terminal:
                screen.print(f"{sweep.done} of {sweep.planned}  {_line(trial, outcome, args.slo)}")

        sweep.run(partial(_workers, subject, args), show)
    if sweep.imprecise:
        screen.print(
            f"[yellow]{sweep.imprecise} cells are not known to {args.until_ci:.2%}[/yellow]; more --most-repeats help."
        )
    screen.print(f"[bold green]{sweep.done} trials[/bold green] are in {args.out}.")


def _workers(subject: Subject, args: argparse.Namespace) -> Workers:
    if args.ray is not None:
        from bayop.experiments.sweep.ray_cluster import RayCluster

        return RayCluster(subject.maker, args.ray, version=__version__)
    from bayop.experiments.sweep.workers import Here, Processes

    count = flags.processes_of(args)
    return (
        Here(subject.maker, version=__version__) if count == 1 else Processes(subject.maker, count, version=__version__)
    )


def _line(trial: Trial, outcome: Outcome, slo: Slo) -> str:
    """A trial for people who read a pipe or a journal."""
    power_w, latency_us = (outcome.measurement.get(name) for name in ("power_w", slo.quantity))
    numbers = [] if power_w is None else [f"{power_w:.1f} W"]
    if latency_us is not None:
        numbers.append(f"{slo.quantity.removesuffix('_us')} {format_in_column(latency_us, 'us')}")
    return "  ".join([format_setting(trial.cell.setting), *numbers])


def _start_event(sweep: Sweep, plan: Plan, subject: Subject, args: argparse.Namespace) -> dict[str, object]:
    return {
        "event": "start",
        "study": plan.study,
        "target": args.target,
        "description": subject.description,
        "space": subject.space.describe(),
        "cells": len(plan.cells),
        "repeats": plan.repeats.describe(),
        "trials": sweep.planned,
        "done": sweep.done,
        "seed": args.seed,
        "out": str(args.out),
    }


def _print_trial(trial: Trial, outcome: Outcome) -> None:
    measured = outcome.measurement.quantities
    print_json(
        {
            "event": "trial",
            "trial": trial.number,
            "repeat": trial.repeat,
            **outcome.load.columns,
            "setting": dict(trial.cell.setting),
            "effective": dict(outcome.effective),
            "measured": {name: round_significant(value) for name, value in sorted(measured.items())},
            "cut_short": outcome.measurement.cut_short,
        }
    )
