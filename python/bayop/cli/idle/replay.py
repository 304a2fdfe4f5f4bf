"""`bayop idle replay`: governors side by side on traces of idle periods."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bayop.cli.flags import arguments
from bayop.cli.idle.flags import add_price, limit_us
from bayop.cli.terminal.output import console, literal, new_table, print_json, progress
from bayop.errors import InputError, guess
from bayop.units import round_significant

if TYPE_CHECKING:
    from bayop.idle.replay import Replayed

EXAMPLE: Final = """\
  bayop idle replay ../shared/data/idle/*.csv.gz
  bayop idle replay ../shared/data/idle/r_mc8k.csv.gz --governors menu,teo,yawn,bayop --machine sandy-bridge --json
  bayop idle replay ../shared/data/idle/r_mc2k.csv.gz --governors teo,bayop-slo --limit 20us --out build/idle
"""

_GOVERNORS: Final = ("menu", "teo", "yawn", "bayop")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument(
        "traces",
        nargs="+",
        type=arguments.reader(arguments.path, "TRACE"),
        metavar="TRACE",
        help="CSV of idle periods, or a log with one record per interrupt; also with gzip",
    )
    parser.add_argument(
        "--governors",
        type=arguments.reader(_governors, "--governors"),
        default=_GOVERNORS,
        metavar="NAME,...",
        help=f"which, or all (default: {','.join(_GOVERNORS)})",
    )
    parser.add_argument(
        "--machine",
        default="sandy-bridge",
        metavar="NAME",
        help="whose idle states: sandy-bridge, haswell, skylake-sp, ice-lake-sp, zen2, or own (default: %(default)s)",
    )
    add_price(parser, "what bayop pays for 1 us of latency")
    parser.add_argument(
        "--limit",
        type=arguments.reader(limit_us, "--limit"),
        default=50,
        metavar="TIME",
        help="the latest that bayop-slo may wake up, but for 1%% of wake-ups (default: 50us)",
    )
    parser.add_argument(
        "--out",
        type=arguments.reader(arguments.path, "--out"),
        metavar="DIR",
        help="draw energy against latency as the price varies, and the choices over time of the first trace",
    )
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Replays every trace under every governor and prints what they made of it."""
    from bayop.idle.machines import machine
    from bayop.idle.replay import replay
    from bayop.idle.trace import read_trace

    try:
        chosen = machine(args.machine)
    except InputError as error:
        raise error.at("--machine") from error
    traces = [read_trace(path) for path in args.traces]
    rows: list[Replayed] = []
    with progress("replays", len(traces) * len(args.governors)) as bar:
        for trace in traces:
            for governor in args.governors:
                rows.append(replay(trace, governor, chosen, price=args.price, limit_us=args.limit))
                bar.advance()
                if args.json:
                    _print_event(rows[-1])
    if not args.json:
        _print(rows, args.governors)
    if args.out is not None:
        from bayop.files import make_folder
        from bayop.report.idle import write_report

        make_folder(args.out)
        names = write_report(traces, args.governors, chosen, args.out, price=args.price, limit_us=args.limit)
        if not args.json:
            console().print(f"wrote {', '.join(names)} to {args.out}", markup=False)
    return 0


def _print_event(row: Replayed) -> None:
    numbers = ("energy_over_clairvoyant", "wake_latency_mean_us", "wake_latency_p99_us", "ns_per_decision")
    print_json(
        {
            "event": "replay",
            "trace": row.trace,
            "governor": row.governor,
            **{name: round_significant(getattr(row, name)) for name in numbers},
            "too_deep": round_significant(row.too_deep),
            "too_shallow": round_significant(row.too_shallow),
            "decisions": row.decisions,
        }
    )


def _print(rows: Sequence[Replayed], governors: Sequence[str]) -> None:
    several = len(rows) > len(governors)
    table = new_table(f"energy over the clairvoyant minimum; wake latency, timers aside{'; all: means' * several}")
    headers = ("energy", "mean (us)", "p99 (us)", "too deep", "too shallow", "ns")
    for header in ("trace", "governor", *headers):
        table.add_column(header, justify="left" if header in ("trace", "governor") else "right")
    for row in rows:
        table.add_row(literal(row.trace), row.governor, *_numbers([row]))
    if several:
        for governor in governors:
            own = [row for row in rows if row.governor == governor]
            table.add_row("all", governor, *_numbers(own))
    console().print(table)


def _numbers(rows: Sequence[Replayed]) -> list[str]:
    """Those of a replay, or the means of several: the geometric one of energies."""
    from statistics import fmean, geometric_mean

    return [
        f"{geometric_mean(row.energy_over_clairvoyant for row in rows):.3f}",
        f"{fmean(row.wake_latency_mean_us for row in rows):.1f}",
        f"{fmean(row.wake_latency_p99_us for row in rows):.1f}",
        f"{fmean(row.too_deep for row in rows):.1%}",
        f"{fmean(row.too_shallow for row in rows):.1%}",
        f"{fmean(row.ns_per_decision for row in rows):.0f}",
    ]


def _governors(text: str) -> tuple[str, ...]:
    from bayop.idle.replay import governors

    known = governors()
    names = tuple(known) if text == "all" else tuple(text.split(","))
    for name in names:
        if name not in known:
            hint = guess(name, known) or f"known: {', '.join(known)}, or all"
            raise InputError(wrong=f"there is no governor {name!r}", value=name, hint=hint)
    if len(set(names)) < len(names):
        raise InputError("each governor must be named once", value=text)
    return names
