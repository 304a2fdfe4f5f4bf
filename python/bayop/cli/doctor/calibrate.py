"""`bayop doctor --calibrate nic`: what a live NIC makes of the interrupt delays that it is asked for."""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager, closing, nullcontext
from typing import Final

from bayop.cli.flags import agent as agent_flags
from bayop.cli.flags import arguments
from bayop.cli.terminal.output import console, new_table, print_json, progress
from bayop.errors import InputError
from bayop.experiments.nic_delay import VALUES_US, Delay, measure_delays
from bayop.load.datagrams import DatagramSender
from bayop.units import parse_quantity, round_significant

WINDOW_S: Final = 2.0
SETTLE_S: Final = 0.2
PACKETS_PER_S: Final = 50_000
_FLAGS: Final = ("device", "values", "window", "send", "packets_per_s")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument(
        "--calibrate",
        choices=("nic",),
        help="measure what the NIC makes of rx_usecs and store it with the agent; the NIC's own setting is put back",
    )
    parser.add_argument("--device", metavar="NAME", help="calibrate: the NIC, such as eth0")
    parser.add_argument(
        "--values",
        type=arguments.reader(_values, "--values"),
        metavar="US,US,...",
        help=f"calibrate: the rx_usecs to ask for (default: {','.join(f'{v:g}' for v in VALUES_US)})",
    )
    parser.add_argument(
        "--window",
        type=arguments.reader(arguments.duration_s, "--window"),
        metavar="TIME",
        help=f"calibrate: how long each is measured (default: {WINDOW_S:g}s)",
    )
    parser.add_argument(
        "--send",
        type=arguments.reader(_receiver, "--send"),
        metavar="HOST:PORT",
        help="calibrate: send UDP datagrams there meanwhile, for a NIC without traffic of its own",
    )
    parser.add_argument(
        "--packets-per-s",
        type=arguments.reader(arguments.whole_number(1, 1_000_000), "--packets-per-s"),
        metavar="N",
        help=f"calibrate: how many (default: {PACKETS_PER_S})",
    )


def check_flags(args: argparse.Namespace) -> None:
    """Refuses flags that have no meaning together.

    Raises:
        InputError: there are some, or one is missing.
    """
    if args.calibrate is None:
        for flag in _FLAGS:
            if getattr(args, flag) is not None:
                place = f"--{flag.replace('_', '-')}"
                raise InputError(
                    wrong=f"{place} is for a calibration, and none is asked for",
                    place=place,
                    hint="add --calibrate nic",
                )
        return
    for flag in ("agent", "device"):
        if getattr(args, flag) is None:
            raise InputError(
                f"a calibration must have --{flag}",
                wrong=f"--{flag} is missing",
                place="--calibrate",
                hint="see bayop doctor --help",
            )
    if args.packets_per_s is not None and args.send is None:
        raise InputError(
            "a rate must come with a receiver",
            wrong="--send is missing",
            place="--packets-per-s",
            hint="add --send HOST:PORT",
        )


def run(args: argparse.Namespace) -> int:
    """Measures every delay, prints the map and stores it; 1 when the traffic was too thin for all of them."""
    client = agent_flags.client_of(args.agent, args)
    values_us = args.values or VALUES_US
    measured = measure_delays(
        client,
        args.device,
        values_us,
        window_s=args.window or WINDOW_S,
        settle_s=SETTLE_S,
        holder=agent_flags.holder("doctor"),
    )
    delays = []
    with _traffic(args), progress("delays", len(values_us)) as bar, closing(measured):
        for delay in measured:
            delays.append(delay)
            bar.advance()
            if args.json:
                print_json(_event(delay))
    points = [(d.requested_us, round_significant(e, 4)) for d in delays if (e := d.effective_us) is not None]
    if points:
        client.store_calibration(args.device, points, holder=agent_flags.holder("doctor"))
    if not args.json:
        _show(args.device, delays, stored=len(points))
    return 0 if points else 1


def _traffic(args: argparse.Namespace) -> AbstractContextManager[object]:
    if args.send is None:
        return nullcontext()
    host, port = args.send
    try:
        return DatagramSender(host, port, args.packets_per_s or PACKETS_PER_S)
    except InputError as error:
        raise error.at("--send") from error


def _show(device: str, delays: list[Delay], *, stored: int) -> None:
    table = new_table()
    for column in ("asked", "in effect", "packets per interrupt"):
        table.add_column(column, justify="right")
    for delay in delays:
        effective = "traffic too thin" if delay.effective_us is None else f"{delay.effective_us:.4g}us"
        table.add_row(f"{delay.requested_us:g}us", effective, f"{delay.packets_per_interrupt:.1f}")
    screen = console()
    screen.print(table)
    if stored:
        screen.print(f"Stored {stored} of {len(delays)} values for {device}; its own setting is back.")
    else:
        screen.print(f"Nothing was stored: {device} needs more traffic (--send HOST:PORT). Its own setting is back.")


def _event(delay: Delay) -> dict[str, object]:
    effective_us = delay.effective_us
    return {
        "event": "delay",
        "requested_us": delay.requested_us,
        "effective_us": None if effective_us is None else round_significant(effective_us, 4),
        "packets_per_interrupt": round_significant(delay.packets_per_interrupt, 3),
    }


def _values(text: str) -> tuple[float, ...]:
    return tuple(sorted({parse_quantity(part, "us") for part in text.split(",")}))


def _receiver(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not (host and colon and port.isdecimal() and 0 < int(port) < 65536):
        raise InputError("a receiver must be HOST:PORT", value=text, hint="such as web1:9")
    return host.strip("[]"), int(port)
