"""The flags of what records a running kernel: how long, by which command, and whether to measure what that takes."""

from __future__ import annotations

import argparse
from typing import Final

from bayop.cli.flags import arguments
from bayop.errors import InputError

_LEAST_S: Final = 0.01


def add_recorder(parser: argparse.ArgumentParser, program: str) -> None:
    """`--duration`, `--recorder` and `--cost`; `program` is the recorder's."""
    parser.add_argument(
        "--duration",
        type=arguments.reader(_duration_s, "--duration"),
        default=10.0,
        metavar="TIME",
        help="how long to record, 10ms to 1h (default: 10s)",
    )
    parser.add_argument(
        "--recorder",
        type=arguments.reader(_words, "--recorder"),
        default=[program],
        metavar="COMMAND",
        help=f"the eBPF recorder, which `make probe` builds, and what brings it to the server (default: {program})",
    )
    parser.add_argument(
        "--cost",
        action="store_true",
        help="also measure what recording takes; slows every eBPF program of the server a little meanwhile",
    )


def _duration_s(text: str) -> float:
    value = arguments.duration_s(text)
    if value < _LEAST_S:
        raise InputError("it must lie between 10ms and 1h", value=text)
    return value


def _words(text: str) -> list[str]:
    from bayop.program import split_command

    return split_command(text)
