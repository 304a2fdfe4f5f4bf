"""The flags with which several verbs name the target that they work on, and how it is opened."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from bayop.cli.flags import agent as agent_flags
from bayop.cli.flags import arguments, live_agent, live_file
from bayop.errors import InputError
from bayop.live.agent.address import PORT, PREFIX, SOCKET, parse_address
from bayop.relative_slo import RelativeSlo
from bayop.slo import Slo
from bayop.space import Space
from bayop.target.base import Target

FLAGS_OF: Final[Mapping[str, tuple[Sequence[str], str, Sequence[str]]]] = {
    "a study": (("study",), "study", ("data", "os")),
    "a twin": (("twin",), "twin", ("profile",)),
    "an agent": (("agent",), "agent:ADDRESS", live_agent.FLAGS),
    "a live machine": (("agent", "file"), "agent:ADDRESS", live_agent.LIVE_FLAGS),
}
"""What only some kinds of targets can be told: the kinds, how they are asked for, and the flags."""


def add_target(parser: argparse.ArgumentParser) -> None:
    """`--target` and what names a study or a twin."""
    parser.add_argument(
        "--target",
        type=arguments.reader(_target, "--target"),
        default="twin",
        metavar="study|twin|agent:ADDRESS|FILE.toml",
        help=f"what is measured (default: twin); a live machine is {PREFIX}{SOCKET} or "
        f"{PREFIX}https://HOST:{PORT}, or a file that says everything about it (docs/live.md)",
    )
    parser.add_argument(
        "--data",
        type=arguments.reader(arguments.study_file, "--data"),
        metavar="FILE",
        help="study: the file of trials (docs/study.md)",
    )
    parser.add_argument("--os", help="study: the operating system, such as ebbrt (default: its only one, or linux)")
    parser.add_argument("--profile", metavar="NAME|FILE", help="twin: the server (default: linux-memcached)")


def kind(target: str) -> str:
    """`study`, `twin`, `agent`, or `file` for one that says everything about a live machine."""
    return "file" if target.endswith(live_file.SUFFIX) else target.partition(":")[0]


def check_auto(args: argparse.Namespace, space: Space) -> None:
    """Refuses `--with-auto` where no knob can be left to the operating system.

    Raises:
        InputError: it was given, and none can.
    """
    if args.with_auto and not any(knob.auto for knob in space.knobs):
        raise InputError(
            wrong="the target has no knob that can be left to the operating system",
            place="--with-auto",
            hint="leave the flag out, or use another target, such as the twin",
        )


def check_flags(
    args: argparse.Namespace, flags_of: Mapping[str, tuple[Sequence[str], str, Sequence[str]]] = FLAGS_OF
) -> None:
    """Refuses flags that the target has no use for, and misses those that it needs.

    Raises:
        InputError: there is one.
    """
    ids = [knob_id for knob_id, _ in args.range or ()]
    if len(set(ids)) != len(ids):
        raise InputError("a knob must have one range", value=", ".join(ids), place="--range")
    for name, (kinds, target, flags) in flags_of.items():
        for flag in flags:
            value = getattr(args, flag)
            if value not in (None, False) and kind(args.target) not in kinds:
                text = None if value is True else str(value)
                place = f"--{flag.replace('_', '-')}"
                raise InputError(
                    wrong=f"{place} is for {name}, and the target is {args.target}",
                    value=text,
                    place=place,
                    hint=f"add --target {target}",
                )
    if args.load is None and args.target in ("study", "twin"):
        raise InputError(
            f"a {args.target} must have an offered load",
            wrong="--load is missing",
            place="--load",
            hint="such as --load 400kqps",
        )
    if args.target == "study" and args.data is None:
        raise InputError(
            "a study target must have a file",
            wrong="--data is missing",
            place="--data",
            hint="--data FILE, a table of trials",
        )


def open_target(args: argparse.Namespace, slo: Slo | RelativeSlo) -> AbstractContextManager[Target]:
    """The target that the flags name, for an SLO; a live one has its own settings back when the block ends.

    Raises:
        BayopError: it can't be opened, or can't do what a search needs.
    """
    if kind(args.target) == "file":
        return agent_flags.reporting(live_file.open_target(args, slo))
    if kind(args.target) == "agent":
        return agent_flags.reporting(live_agent.open_target(args, slo))
    if args.target == "study":
        from bayop.recorded.rows import study_target

        return nullcontext(study_target(args.data, os=args.os, qps=args.load, seed=args.seed))
    from bayop.twin.profile_library import load_profile
    from bayop.twin.target import TwinTarget

    profile = args.profile or "linux-memcached"
    server = load_profile(profile)
    if server.closed_loop:
        raise InputError(
            "a search must be of a server with an offered load",
            wrong=f"{server.name} is a closed loop",
            place="--profile",
            hint=f"bayop sweep --profile {profile} tries its message sizes",
        )
    return nullcontext(TwinTarget(server, qps=args.load, seed=args.seed, knobs=named_knobs(args)))


def named_knobs(args: argparse.Namespace) -> list[str]:
    """The knobs that `--only` and `--range` name, of those that a twin has when it is asked for them."""
    from bayop.twin.target import SAFEST

    named = [*(getattr(args, "only", None) or ()), *(knob_id for knob_id, _ in getattr(args, "range", None) or ())]
    return [knob_id for knob_id in named if knob_id in SAFEST]


def _target(text: str) -> str:
    if text.startswith((PREFIX, "unix:", "https:")):
        return f"{PREFIX}{parse_address(text)}"
    if text in ("study", "twin") or text.endswith(live_file.SUFFIX):
        return text
    hint = f"{PREFIX}{SOCKET}"
    raise InputError("a target must be study, twin, agent:ADDRESS or FILE.toml", value=text, hint=hint)
