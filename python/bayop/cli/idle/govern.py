"""`bayop idle govern`: how deeply a running machine's CPUs may sleep, chosen from how long they do."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from typing import TYPE_CHECKING, Final

from bayop.cli.flags import agent as agent_flags
from bayop.cli.flags import arguments
from bayop.cli.flags.recorder import add_command
from bayop.cli.idle.flags import add_price, limit_us
from bayop.cli.terminal.output import console, literal, print_json
from bayop.errors import InputError
from bayop.live.agent.address import SOCKET
from bayop.units import round_significant

if TYPE_CHECKING:
    from bayop.idle.counter import Counting
    from bayop.idle.depth import Depth, Outlook
    from bayop.live.agent.client import AgentClient
    from bayop.live.idle_limits import IdleLimits

EXAMPLE: Final = """\
  bayop idle govern --price 0.3
  bayop idle govern --limit 50us --dry-run --duration 1min
  bayop idle govern --agent unix:/run/bayop/agent.sock --price 0.3
  bayop idle govern --recorder 'ssh root@server bayop-idle-count' --agent https://server:9617 \\
      --agent-cert me.pem --agent-key me.key --agent-ca ca.pem
"""

_PROGRAM: Final = "bayop-idle-count"
_WINDOW_S: Final = (0.1, 10.0)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    goal = parser.add_mutually_exclusive_group()
    add_price(goal, "what 1 us of latency is worth")
    goal.add_argument(
        "--limit",
        type=arguments.reader(limit_us, "--limit"),
        metavar="TIME",
        help="instead: the latest that a CPU may wake up, but for 1%% of its wake-ups",
    )
    parser.add_argument(
        "--window",
        type=arguments.reader(_window_s, "--window"),
        default=1.0,
        metavar="TIME",
        help="how often to choose, every 100ms to 10s (default: 1s)",
    )
    parser.add_argument(
        "--duration",
        type=arguments.reader(arguments.duration_s, "--duration"),
        metavar="TIME",
        help="how long (default: until Ctrl-C)",
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be limited, and write nothing")
    add_command(parser, _PROGRAM)
    agent_flags.add_agent(parser, f"who writes the limits (default: {SOCKET}), and without --recorder also counts")
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Watches and limits until the time is over; the machine's own limits are back then."""
    from bayop.idle.depth import Depth
    from bayop.idle.machines import with_shares
    from bayop.recorder import BY_HAND

    began_s = monotonic()
    depths: dict[int, Depth] = {}
    said: set[int] = set()
    client = agent_flags.client_of(args.agent or SOCKET, args)
    with _counting(args, client) as counted, _limits(args, client) as limits:
        states = with_shares(counted.states)
        for window in counted.windows:
            changed = {}
            for cpu, stays in sorted(window.of_cpu.items()):
                depth = depths.setdefault(cpu, Depth(states, counted.bounds_us, price=args.price, limit_us=args.limit))
                if depth.see(stays, is_in_effect=limits is not None):
                    changed[cpu] = depth
            if limits is not None:
                limits.write({cpu: depth.max_latency_us for cpu, depth in changed.items()})
            is_over = args.duration is not None and monotonic() - began_s >= args.duration
            for cpu, depth in depths.items() if is_over else changed.items():
                if cpu in changed or cpu not in said:
                    _say(cpu, states[depth.deepest].name, depth, as_json=args.json)
            said |= changed.keys()
            if is_over:
                if not depths and not args.json:
                    console().print("No CPU was idle.")
                return 0
    raise InputError(wrong="the recorder ended early", place="--recorder", hint=BY_HAND)


@contextmanager
def _counting(args: argparse.Namespace, client: AgentClient) -> Iterator[Counting]:
    """How long the CPUs stay in their idle states."""
    from bayop.idle.counter import counting
    from bayop.live.idle_stays import counted_by

    if args.agent is not None and args.recorder is None:
        yield counted_by(client, window_s=args.window, sleep=sleep)
        return
    with counting(args.recorder or [_PROGRAM], window_s=args.window) as counted:
        yield counted


@contextmanager
def _limits(args: argparse.Namespace, client: AgentClient) -> Iterator[IdleLimits | None]:
    """Where limits are written; None where nothing is."""
    from bayop.live.idle_limits import idle_limits

    if args.dry_run:
        yield None
        return
    with idle_limits(client, holder=agent_flags.holder("idle govern")) as limits:
        yield limits


def _say(cpu: int, state: str, depth: Depth, *, as_json: bool) -> None:
    expected, unlimited = depth.outlook(depth.deepest), depth.outlook()
    if as_json:
        print_json(
            {
                "event": "limit",
                "cpu": cpu,
                "state": state,
                "max_latency_us": depth.max_latency_us,
                "is_limited": depth.is_limited,
                "energy_share": round_significant(_energy_share(expected, unlimited)),
                "latency_us": round_significant(expected.latency_us),
                "unlimited_latency_us": round_significant(unlimited.latency_us),
            }
        )
        return
    if not depth.is_limited:
        console().print(literal(f"cpu{cpu}: as the kernel chooses, {unlimited.latency_us:.1f} us a wake-up"))
        return
    console().print(
        literal(
            f"cpu{cpu}: no deeper than {state} ({depth.max_latency_us} us): expected are {expected.latency_us:.1f} us "
            f"a wake-up, not {unlimited.latency_us:.1f}, and {_energy_share(expected, unlimited):.2f} of the energy"
        )
    )


def _energy_share(expected: Outlook, unlimited: Outlook) -> float:
    return expected.energy_us / unlimited.energy_us if unlimited.energy_us > 0.0 else 1.0


def _window_s(text: str) -> float:
    value = arguments.duration_s(text)
    if not _WINDOW_S[0] <= value <= _WINDOW_S[1]:
        raise InputError("it must lie between 100ms and 10s", value=text)
    return value
