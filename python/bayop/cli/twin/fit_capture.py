"""`bayop twin fit --capture`: a profile of a server from logs of its interrupts."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from bayop.cli.flags import arguments
from bayop.cli.terminal.output import progress
from bayop.cli.twin import flags
from bayop.cli.twin.capture_output import print_events, print_tables, setting_text
from bayop.cli.twin.run_ import parse_setting
from bayop.errors import InputError
from bayop.space import AUTO
from bayop.units import parse_quantity

if TYPE_CHECKING:
    from bayop import _core
    from bayop.twin.observed import Observed

T = TypeVar("T")

# Flags that say something about cells of a study, with their defaults.
_OF_DATA: Final[Mapping[str, tuple[str, object]]] = {
    "os": ("--os", None),
    "siblings": ("--with", []),
    "parameters": ("--parameters", ["application"]),
    "max_utilization": ("--max-utilization", 1.0),
}


def add_captures(source: argparse._ActionsContainer, parser: argparse.ArgumentParser) -> None:
    """`--capture`, and what nobody can read out of a capture."""
    source.add_argument(
        "--capture",
        nargs="+",
        type=arguments.reader(arguments.path, "--capture"),
        metavar="LOG|FOLDER",
        help="captures of bayop interrupts record, one for each setting: a log, or the folder with those of all queues",
    )
    parser.add_argument(
        "--setting",
        action="append",
        metavar="KNOB=VALUE,...",
        help="what was in effect during a capture, such as nic.rx_usecs=50us,cpu.freq_mhz=2.1GHz; once for each, in "
        "their order (default: auto, the system's own policies)",
    )
    parser.add_argument(
        "--power-w",
        type=arguments.reader(_powers_w, "--power-w"),
        metavar="W,...",
        help="what the server drew during each capture, in W (default: what its logs say, or, without energy "
        "in them, as the profile has it)",
    )


def check_no_capture_flags(args: argparse.Namespace) -> None:
    """Refuses what only a capture needs.

    Raises:
        InputError: there is such a flag.
    """
    for flag, value in (("--setting", args.setting), ("--power-w", args.power_w)):
        if value is not None:
            raise InputError(f"{flag} must go with --capture", wrong="a study says this itself", place=flag)


def run_captures(args: argparse.Namespace) -> int:
    """Fits, writes the profile, and prints what is known of each number and how wrong predictions are."""
    from bayop.twin.capture_fit import CaptureProblem
    from bayop.twin.profile_library import parse_profile, read_profile
    from bayop.twin.profile_text import with_numbers

    for name, (flag, default) in _OF_DATA.items():
        if getattr(args, name) != default:
            raise InputError(f"{flag} must go with --data", wrong="captures say themselves what they tell", place=flag)
    text, source = read_profile(args.profile)
    profile = parse_profile(text, source=source)
    captures = _captures(args, profile)
    fits = 1 if len(captures) == 1 else len(captures) + 1
    with progress("sweeps", args.sweeps * fits) as bar:
        problem = CaptureProblem(
            profile, captures, sweeps=args.sweeps, requests=args.requests, seed=args.seed, threads=args.threads,
            on_simulated=bar.advance,
        )  # fmt: skip
        fit = problem.fit()
    flags.write_profile(args.out, _header(args.profile, captures) + with_numbers(text, fit.values))
    if args.json:
        print_events(args.profile, args.out, fit, captures)
    else:
        print_tables(args.out, fit, args.sweeps)
    return 0


def _captures(args: argparse.Namespace, profile: _core.Profile) -> list[Observed]:
    """What the flags say of each capture, and what its logs show."""
    from bayop.interrupts.observe import observe
    from bayop.twin.target import profile_space

    count = len(args.capture)
    settings = _one_each(args.setting, count, "--setting") or [AUTO] * count
    powers_w = _one_each(args.power_w, count, "--power-w") or [None] * count
    loads = _one_each(args.loads or None, count, "--loads") or [None] * count
    space = profile_space(profile)
    found = []
    with progress("captures", count) as bar:
        for path, text, qps, power_w in zip(args.capture, settings, loads, powers_w, strict=True):
            numbers = {k: float(v) for k, v in parse_setting(space, text).items() if v != AUTO}
            found.append(observe(path, setting=numbers, qps=qps, power_w=power_w))
            bar.advance()
    return found


def _one_each(values: list[T] | None, count: int, flag: str) -> list[T] | None:
    """The values of a flag, of which there must be one for each capture, or none."""
    if values is not None and len(values) != count:
        raise InputError(
            f"{flag} must say one for each capture",
            wrong=f"there {'is 1 capture' if count == 1 else f'are {count} captures'}, and {len(values)} of {flag}",
            place=flag,
        )
    return values


def _powers_w(text: str) -> list[float]:
    powers_w = [parse_quantity(part.strip(), "W") for part in text.split(",")]
    if not all(power_w > 0.0 for power_w in powers_w):
        raise InputError("a power must be positive", value=text)
    return powers_w


def _header(profile: str, captures: Sequence[Observed]) -> str:
    """What the profile says of where its numbers come from."""
    lines = [f"Fitted from {_one_line(profile)} by bayop twin fit --capture, to the interrupts in"]
    lines += [f"  {_described(capture)}" for capture in captures]
    return "".join(f"# {line}\n" for line in lines)


def _one_line(name: str) -> str:
    """A file's name as it can stand in a comment."""
    return name.encode("unicode_escape").decode()


def _described(capture: Observed) -> str:
    power = "" if capture.power_w is None else f", {capture.power_w:g} W"
    return (
        f"{_one_line(capture.name)}: {setting_text(capture)}; {capture.interrupts} interrupts of {capture.cpus} CPUs "
        f"in {capture.duration_s:.3g} s, {capture.requests_per_s:.6g} requests/s{power}"
    )
