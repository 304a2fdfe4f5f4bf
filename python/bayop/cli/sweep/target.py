"""What `bayop sweep` measures, as its flags name it."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bayop.cli.flags import arguments, live_file
from bayop.cli.flags import target as target_flags
from bayop.domains import Range
from bayop.errors import InputError
from bayop.experiments.sweep.load import Load
from bayop.live.agent.address import PREFIX
from bayop.space import Space
from bayop.target.base import Target

if TYPE_CHECKING:
    from bayop.experiments.sweep.makers import Maker


@dataclass(frozen=True, slots=True)
class Subject:
    """What is swept.

    Attributes:
        maker: Gives every trial its target.
        loads: What it is put under; None for the load that a live machine is under anyway.
        space: The knobs that can be set.
        quantities: What is measured.
        shows_default: Whether it can show what the operating system does when left alone.
        description: What it is, for people.
    """

    maker: Maker
    loads: tuple[Load | None, ...]
    space: Space
    quantities: frozenset[str]
    shows_default: bool
    description: str


@contextmanager
def open_subject(args: argparse.Namespace) -> Iterator[Subject]:
    """The target that the flags name; a live one has its own settings back when the block ends.

    Raises:
        BayopError: it can't be opened, or can't do what a sweep needs.
    """
    if args.target in ("twin", "study"):
        yield _model_subject(args)
        return
    if args.load is not None and len(args.load) > 1:
        hint = "sweep once under each load, and join the studies with bayop study merge"
        raise InputError(
            "a live machine must be under one load",
            wrong=f"{len(args.load)} loads were given",
            value=len(args.load),
            place="--load",
            hint=hint,
        )
    with target_flags.open_target(_as_tune(args), args.slo) as target:
        yield _machine_subject(args, target)


def _model_subject(args: argparse.Namespace) -> Subject:
    from bayop.experiments.sweep.makers import StudyMaker, TwinMaker

    maker: Maker
    if args.target == "twin":
        knobs = target_flags.named_knobs(args)
        maker = TwinMaker.of(args.profile or "linux-memcached", window_s=args.window, knobs=knobs)
    else:
        maker = StudyMaker.of(args.data, os=args.os)

    def make(load: Load) -> Target:
        return maker.make(load, seed=args.seed)

    targets = [arguments.reader(make, "--load")(load) for load in args.load]
    if any(target.space != targets[0].space for target in targets):
        hint = "sweep once under each load, and join the studies with bayop study merge"
        raise InputError(
            "all loads of a sweep must have the same space",
            value=", ".join(map(str, args.load)),
            place="--load",
            hint=hint,
        )
    return Subject(
        maker=maker,
        loads=tuple(args.load),
        space=targets[0].space,
        quantities=frozenset.intersection(*(target.quantities for target in targets)),
        shows_default=args.target == "twin" or all(target.baseline() is not None for target in targets),
        description=targets[0].description,
    )


def _machine_subject(args: argparse.Namespace, target: Target) -> Subject:
    from bayop.experiments.sweep.makers import HeldMaker

    file = Path(args.target) if args.target.endswith(live_file.SUFFIX) else None
    identity = {
        "file": None if file is None else hashlib.sha256(file.read_bytes()).hexdigest(),
        "latency": args.latency,
        "load": _rates(args),
        "window_s": args.window,
        "settle_s": args.settle,
        "slo": str(args.slo),
        "space": target.space.describe(),
    }
    machine = args.target if file else args.target.removeprefix(PREFIX)
    return Subject(
        maker=HeldMaker(target, identity, kind="live" if file else "agent", machine=machine, vantage=target.vantage),
        loads=(None,),
        space=target.space,
        quantities=target.quantities,
        shows_default=True,
        description=target.description,
    )


def _as_tune(args: argparse.Namespace) -> argparse.Namespace:
    """The flags as `bayop tune` has them: one load, and no lists among the ranges."""
    ranges = [(knob_id, choice) for knob_id, choice in args.range or () if isinstance(choice, Range)]
    rates = _rates(args)
    changes = {"load": rates[0] if rates else None, "range": ranges or None}
    return argparse.Namespace(**(vars(args) | changes))


def _rates(args: argparse.Namespace) -> list[float] | None:
    """The loads in requests/s; None where there are none."""
    return None if args.load is None else [arguments.reader(Load.rate, "--load")(load) for load in args.load]
