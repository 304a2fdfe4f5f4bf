"""What `bayop tune` does only with a live machine: reach it, show what it would change, and let it go."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Final

from bayop.cli.flags import agent as agent_flags
from bayop.cli.flags import arguments
from bayop.cli.terminal.output import console, new_table, print_json
from bayop.domains import Value
from bayop.errors import BayopError, InputError
from bayop.live.agent.client import AgentClient
from bayop.live.agent.messages import Change
from bayop.live.patience import Patience
from bayop.live.senses import WINDOW_S
from bayop.live.sources import checked_source
from bayop.live.space import agent_space
from bayop.live.target import SETTLE_S, AgentTarget
from bayop.live.trial_guard import TrialGuard
from bayop.relative_slo import RelativeSlo, draft_of, slo_against
from bayop.slo import Slo
from bayop.space import Space, fastest_setting, format_value

FLAGS: Final = ("latency", "window", "settle", *agent_flags.TLS_FLAGS)
"""What only an agent can be told."""

LIVE_FLAGS: Final = ("keep", "dry_run")
"""What any live machine can be told."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    add_senses(parser, windows_of="agent")
    parser.add_argument("--keep", action="store_true", help="agent: leave the result applied instead of restoring")
    parser.add_argument("--dry-run", action="store_true", help="agent: show what would be changed, and change nothing")
    agent_flags.add_tls(parser)


def add_senses(parser: argparse.ArgumentParser, *, windows_of: str) -> None:
    """`--latency`, `--window` and `--settle`; other targets than an agent may have windows of a given length, too."""
    parser.add_argument(
        "--latency",
        metavar="SOURCE",
        help="agent: what clients see: prometheus:URL?query=PROMQL, probe:URL (bayop probe), ebpf:COMMAND (bayop-probe "
        'on the server), or a command that prints {"vantage": "client", "p99_us": 310, "qps": 400000} for every window',
    )
    for flag, whose, default_s, meaning in (
        ("--window", windows_of, WINDOW_S, "how long one measurement takes"),
        ("--settle", "agent", SETTLE_S, "how long a setting works before it is measured"),
    ):
        parser.add_argument(
            flag,
            type=arguments.reader(arguments.duration_s, flag),
            metavar="TIME",
            help=f"{whose}: {meaning} (default: {default_s:g}s)",
        )


def open_target(args: argparse.Namespace, slo: Slo | RelativeSlo) -> AgentTarget:
    """The live machine, measured once as it is.

    Raises:
        BayopError: the agent, its machine or the latency command can't do what a search needs.
    """
    if args.latency is None:
        raise InputError(
            "a live machine must have a source of latency",
            wrong="--latency is missing",
            place="--latency",
            hint="--latency SOURCE, or --dry-run to see what would be changed",
        )
    latency = arguments.reader(partial(checked_source, slo=draft_of(slo)), "--latency")(args.latency)
    client = _client(args)
    return AgentTarget(
        client,
        _space(client, args),
        latency,
        holder=agent_flags.holder(args.verb),
        qps=args.load,
        window_s=args.window,
        settle_s=SETTLE_S if args.settle is None else args.settle,
        guard=lambda default: TrialGuard(slo_against(slo, default), load_band=None),
        patience=Patience(draft_of(slo).quantile),
    )


def show_dry_run(args: argparse.Namespace) -> int:
    """Prints the difference between what is in effect and a search's first trial, and what it would choose from."""
    client = _client(args)
    return preview(client, _space(client, args).without_auto(), json=args.json)


def preview(client: AgentClient, space: Space, *, json: bool) -> int:
    """The same of an agent and a space."""
    first = fastest_setting(space)
    changes = client.preview(first).changes
    if json:
        print_json(
            {
                "event": "dry-run",
                "setting": dict(first),
                "changes": [{"knob": c.knob, "before": c.before, "requested": c.requested} for c in changes],
                "space": space.describe(),
            }
        )
        return 0
    screen = console()
    table = new_table()
    for column in ("knob", "now", "first trial", "then one of"):
        table.add_column(column, justify="right" if column in ("now", "first trial") else "left", overflow="fold")
    for change in changes:
        table.add_row(*_row(change, space))
    screen.print(f"A search on {client.address} would change, for its time only:")
    screen.print(table)
    screen.print("Nothing was written.")
    return 0


def _row(change: Change, space: Space) -> tuple[str, str, str, str]:
    knob_id = change.knob.partition("@")[0]

    def text(value: Value) -> str:
        return format_value(knob_id, value)

    return change.knob, text(change.before), text(change.requested), space[knob_id].describe()


def _client(args: argparse.Namespace) -> AgentClient:
    return agent_flags.client_of(args.target, args)


def _space(client: AgentClient, args: argparse.Namespace) -> Space:
    machine = client.knobs()
    try:
        return agent_space(machine, only=args.only or (), ranges=dict(args.range or ()))
    except BayopError as error:
        raise (error.at("--only") if args.only else error) from error
