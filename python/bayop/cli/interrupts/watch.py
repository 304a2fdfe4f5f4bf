"""`bayop interrupts watch`: a running kernel's interrupts, as they come."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from bayop.cli.flags import arguments
from bayop.cli.interrupts.recording import add_recording, recording
from bayop.cli.terminal.output import console, literal, new_table, print_json
from bayop.errors import InputError
from bayop.units import round_significant

if TYPE_CHECKING:
    from bayop.cli.terminal.tables import FittingTable
    from bayop.interrupts.watch import Moment, QueueMoment

EXAMPLE: Final = """\
  bayop interrupts watch --device eth0
  bayop interrupts watch --device eth0 --interval 5s --duration 1min --json
  bayop interrupts watch --device eth0 --recorder 'ssh root@server bayop-interrupts-record'
"""

_LEAST_S: Final = 0.1
_COLUMNS: Final = (
    "/s", "p1 (us)", "p50 (us)", "p99 (us)", "delay kept", "received", "sent", "in interrupts", "idle",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    add_recording(parser, duration="1h")
    parser.add_argument(
        "--interval",
        type=arguments.reader(_interval_s, "--interval"),
        default=1.0,
        metavar="TIME",
        help="how long each moment is, from 100ms (default: 1s)",
    )
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Shows each moment when it is over."""
    if args.interval > args.duration:
        raise InputError("it must be at most --duration", value=f"{args.interval:g} s", place="--interval")
    if args.json:
        for _, moment in _moments(args):
            print_json(_event(moment))
    else:
        _show(_moments(args))
    return 0


def _moments(args: argparse.Namespace) -> Iterator[tuple[str, Moment]]:
    """What is counted, interrupts or polls, with each moment."""
    from bayop.interrupts.capture import read_chunks, read_source
    from bayop.interrupts.watch import moments

    printed, place = recording(args)
    with printed as out:
        source = read_source(out, place)
        for moment in moments(read_chunks(out, source, place), source, args.interval):
            yield "interrupts" if source.queues else "polls", moment


def _show(found: Iterator[tuple[str, Moment]]) -> None:
    from rich.live import Live

    screen = console()
    with Live(console=screen, auto_refresh=False) as live:
        for what, moment in found:
            if screen.is_terminal:
                live.update(_table(what, moment), refresh=True)
            else:
                screen.print(_table(what, moment))


def _table(what: str, moment: Moment) -> FittingTable:
    asked = "" if moment.delay_us is None else f", asked to wait {moment.delay_us:g} us"
    lost = f", {moment.lost} records lost" if moment.lost else ""
    table = new_table(f"{what} at {moment.time_s:.1f} s{asked}{lost}", drop=["sent", "p1 (us)", "in interrupts"])
    table.add_column("queue", no_wrap=True)
    table.add_column("CPUs")
    for column in _COLUMNS:
        table.add_column(column, justify="right")
    for queue in moment.queues:
        table.add_row(literal(queue.queue), ",".join(map(str, queue.cpus)), *_cells(queue))
    return table


def _cells(queue: QueueMoment) -> Iterator[str]:
    yield f"{queue.interrupts_per_s:,.0f}"
    if queue.spacing is None:
        yield from "-" * 4
    else:
        for spacing_us in (queue.spacing.p1_us, queue.spacing.p50_us, queue.spacing.p99_us):
            yield f"{spacing_us:,.0f}"
        yield _percent(queue.spacing.kept_share)
    yield f"{queue.rx_packets:.2f}"
    yield f"{queue.tx_packets:.2f}"
    yield _percent(queue.irq_share)
    yield _percent(queue.idle_share)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _event(moment: Moment) -> dict[str, Any]:
    return {
        "event": "moment", "time_s": round_significant(moment.time_s), "delay_us": moment.delay_us,
        "lost": moment.lost, "queues": [_queue_event(queue) for queue in moment.queues],
    }  # fmt: skip


def _queue_event(queue: QueueMoment) -> dict[str, Any]:
    spacing = queue.spacing
    return {
        "queue": queue.queue,
        "cpus": list(queue.cpus),
        "interrupts_per_s": round_significant(queue.interrupts_per_s),
        "spacing": None if spacing is None else {
            "p1_us": round_significant(spacing.p1_us), "p50_us": round_significant(spacing.p50_us),
            "p99_us": round_significant(spacing.p99_us), "kept_share": round_significant(spacing.kept_share),
        },
        "rx_packets": round_significant(queue.rx_packets),
        "tx_packets": round_significant(queue.tx_packets),
        "irq_share": round_significant(queue.irq_share),
        "idle_share": round_significant(queue.idle_share),
    }  # fmt: skip


def _interval_s(text: str) -> float:
    value = arguments.duration_s(text)
    if value < _LEAST_S:
        raise InputError("it must lie between 100ms and 1h", value=text)
    return value
