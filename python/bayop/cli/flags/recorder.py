"""The flags of what records a running kernel: how long, by which command, of which NIC, and whether to say the cost."""

from __future__ import annotations

import argparse
from typing import Final

from bayop.cli.flags import arguments
from bayop.errors import InputError
from bayop.units import HOUR_S, parse_quantity

_LEAST_S: Final = 0.01
_MOST_S: Final = 720 * HOUR_S


def add_recorder(parser: argparse.ArgumentParser, program: str, *, duration: str = "10s") -> None:
    """`--duration` and `--recorder`; `program` is the recorder's."""
    parser.add_argument(
        "--duration",
        type=arguments.reader(_duration_s, "--duration"),
        default=_duration_s(duration),
        metavar="TIME",
        help=f"how long to record, 10ms to 720h (default: {duration})",
    )
    add_command(parser, program)


def add_command(parser: argparse.ArgumentParser, program: str) -> None:
    """`--recorder`; None where it is left out and `program` is meant."""
    parser.add_argument(
        "--recorder",
        type=arguments.reader(_words, "--recorder"),
        metavar="COMMAND",
        help=f"the eBPF recorder, which `make probe` builds, and what brings it to the server (default: {program})",
    )


def add_device(parser: argparse.ArgumentParser) -> None:
    """`--device` and `--netns`: the NIC whose interrupts are recorded."""
    parser.add_argument("--device", required=True, metavar="DEVICE", help="the NIC, such as eth0")
    parser.add_argument(
        "--netns",
        metavar="FILE",
        help="the device's network namespace, whose polls are recorded: /run/netns/NAME or /proc/PID/ns/net",
    )


def add_cost(parser: argparse.ArgumentParser) -> None:
    """`--cost`."""
    parser.add_argument(
        "--cost",
        action="store_true",
        help="also measure what recording takes; slows every eBPF program of the server a little meanwhile",
    )


def _duration_s(text: str) -> float:
    value = parse_quantity(text, "s")
    if not _LEAST_S <= value <= _MOST_S:
        raise InputError("it must lie between 10ms and 720h", value=text)
    return value


def _words(text: str) -> list[str]:
    from bayop.program import split_command

    return split_command(text)
