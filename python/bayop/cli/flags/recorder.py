"""What records a running kernel: the flags for how long, by which command, of which NIC; and what that cost."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Final

from bayop.cli.flags import arguments
from bayop.errors import InputError
from bayop.units import HOUR_S, parse_quantity, round_significant

_LEAST_S: Final = 0.01
_MOST_S: Final = 720 * HOUR_S
_ENOUGH: Final = 10_000
"""What a recorder takes for itself, spread over fewer, says nothing of a server that is busy."""


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


def cost_of(counted: Mapping[str, object], noun: str, rate_k: int) -> dict[str, float]:
    """What a recorder took, of what it has counted; empty where it was not asked.

    Args:
        counted: What it has counted.
        noun: What it records.
        rate_k: How many thousands of them a second its share of a core is told for.
    """
    times = (f"{what}_ns_per_{noun}" for what in ("kernel", "nothing", "reader"))
    keys = (*times, f"core_share_at_{rate_k}k_per_s")
    return {key: round_significant(float(str(counted[key]))) for key in keys if key in counted}


def cost_in_words(cost: Mapping[str, float], noun: str, rate_k: int, *, recorded: int) -> str:
    """The same for people; the share of a core where so many were recorded that it tells something."""
    if not recorded:
        return f"cost: no {noun} to spread it over"
    kernel_ns, nothing_ns, reader_ns, share = cost.values()
    times = (
        f"cost: {kernel_ns:.0f} ns a {noun} in the kernel, {nothing_ns:.0f} of them for measuring, and {reader_ns:.0f} "
        "in the recorder"
    )
    if recorded < _ENOUGH:
        return times
    return f"{times}; {share:.1%} of a core at {rate_k},000 {noun}s/s, unmeasured"


def _duration_s(text: str) -> float:
    value = parse_quantity(text, "s")
    if not _LEAST_S <= value <= _MOST_S:
        raise InputError("it must lie between 10ms and 720h", value=text)
    return value


def _words(text: str) -> list[str]:
    from bayop.program import split_command

    return split_command(text)
