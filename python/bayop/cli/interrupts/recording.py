"""The flags that say what is recorded and by whom, and the recording."""

from __future__ import annotations

import argparse
import time
from contextlib import AbstractContextManager
from functools import partial
from typing import IO

from bayop.cli.flags.agent import add_agent, check_needs_agent, client_of
from bayop.cli.flags.recorder import add_device, add_recorder
from bayop.errors import InputError

_PROGRAM = "bayop-interrupts-record"


def add_recording(parser: argparse.ArgumentParser, *, duration: str = "10s") -> None:
    """The NIC, for how long, and the recorder or the agent."""
    add_device(parser)
    add_recorder(parser, _PROGRAM, duration=duration)
    add_agent(parser, "an agent that records, in place of a recorder")


def recording(
    args: argparse.Namespace, *, counters: str | None = None, cost: bool = False
) -> tuple[AbstractContextManager[IO[bytes]], str]:
    """What is printed of the recording, and what errors call the recorder.

    Raises:
        InputError: flags contradict each other.
    """
    check_needs_agent(args)
    if args.agent is None:
        from bayop.interrupts.capture import recorded, recorder_place

        words = args.recorder or [_PROGRAM]
        printed = recorded(
            words, device=args.device, duration_s=args.duration, netns=args.netns, counters=counters, cost=cost
        )
        return printed, recorder_place(words)
    for flag, is_given in (
        ("--recorder", args.recorder is not None), ("--netns", args.netns is not None),
        ("--counters", counters is not None), ("--cost", cost),
    ):  # fmt: skip
        if is_given:
            raise InputError(
                "a recording must be by a recorder or an agent", wrong=f"{flag} is for a recorder", place="--agent"
            )
    from bayop.interrupts.fetched import fetched

    ask = partial(client_of(args.agent, args).interrupts, args.device)
    place = f"agent {args.agent}"
    return fetched(ask, device=args.device, duration_s=args.duration, sleep=time.sleep, place=place), place
