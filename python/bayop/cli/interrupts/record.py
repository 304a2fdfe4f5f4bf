"""`bayop interrupts record`: logs of a running kernel's interrupts."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Final

from bayop.cli.flags import arguments
from bayop.cli.flags.recorder import add_cost, cost_in_words, cost_of
from bayop.cli.interrupts.recording import add_recording, recording
from bayop.cli.terminal import exit_codes
from bayop.cli.terminal.output import console, print_json

if TYPE_CHECKING:
    from bayop.interrupts.record import Capture

EXAMPLE: Final = """\
  bayop interrupts record --device eth0 --duration 30s --out logs
  bayop interrupts show logs/eth0-rx-*.parquet
  bayop interrupts record --device eth0 --counters instructions,llc-misses,context-switches --out logs
  bayop interrupts record --device eth0 --duration 24h --rotate 10min --max-mb 4000 --out logs
  bayop interrupts record --device eth0 --agent unix:/run/bayop/agent.sock --out logs
  bayop interrupts record --device nic0 --agent http://127.0.0.1:40617 --out logs       # a library OS
  bayop interrupts record --device eth0 --recorder 'ssh root@server bayop-interrupts-record' --cost --out logs
"""

_MB: Final = 1_000_000
_COST: Final = ("record", 200)
_REST: Final = ("rest_rx_packets", "rest_tx_packets")
_TOLD: Final = ("duration_s", *_REST, "uncounted")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    add_recording(parser)
    parser.add_argument(
        "--counters",
        metavar="NAMES",
        help="what CPUs count, four things at most: instructions, cycles, ref-cycles, llc-misses, context-switches, "
        "page-faults, cpu-migrations (default: those of the first four that the machine can)",
    )
    add_cost(parser)
    parser.add_argument(
        "--max-mb",
        type=arguments.reader(arguments.whole_number(1, 1_000_000), "--max-mb"),
        default=1000,
        metavar="MB",
        help="end when the records have taken so much, 72 bytes each and 8 for each counter and idle state "
        "(default: 1000)",
    )
    parser.add_argument(
        "--rotate",
        type=arguments.reader(arguments.duration_s, "--rotate"),
        default=math.inf,
        metavar="TIME",
        help="begin new logs after so long, NAME-000001.parquet and on, and remove the oldest beyond --max-mb",
    )
    parser.add_argument(
        "--out",
        type=arguments.reader(arguments.path, "--out"),
        required=True,
        metavar="DIR",
        help="a log for each queue that interrupted: NAME.parquet",
    )
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Records, and writes a log for each queue; a device that was idle has none, and that is an answer."""
    from bayop.files import make_folder
    from bayop.interrupts.record import record

    printed, place = recording(args, counters=args.counters, cost=args.cost)
    make_folder(args.out)
    capture = record(printed, args.out, place=place, most_bytes=args.max_mb * _MB, stretch_s=args.rotate)
    if args.json:
        _print_event(capture, str(args.out))
    else:
        _print(capture, args)
    return exit_codes.DONE


def _print_event(capture: Capture, out: str) -> None:
    counted = capture.counted
    cost = cost_of(counted, *_COST)
    told = {key: counted[key] for key in _TOLD if key in counted}
    print_json(
        {
            "event": "recorded", "out": out, "logs": [path.name for path in capture.paths], "polls": capture.by_poll,
            "removed": capture.removed, "records": capture.records, "lost": capture.lost, "full": capture.is_full,
            **told, **cost,
        }
    )  # fmt: skip


def _print(capture: Capture, args: argparse.Namespace) -> None:
    say = console()
    what, records, logs = "poll" if capture.by_poll else "interrupt", capture.records, len(capture.paths)
    say.print(
        f"{records} {what}{'s' * (records != 1)} of {args.device} in {logs} log{'s' * (logs != 1)} in {args.out}; "
        f"{capture.lost} lost",
        markup=False,
    )
    if removed := capture.removed:
        made = "log has" if removed == 1 else "logs have"
        say.print(f"{removed} older {made} made room for them (--max-mb)", markup=False)
    if capture.is_full:
        say.print(f"the recording ended early: its records had taken {args.max_mb} MB (--max-mb)", markup=False)
    if not capture.records:
        hint = (
            "a veth device has polls only with GRO on: ethtool -K DEVICE gro on" if capture.by_poll else "it was idle"
        )
        say.print(f"there were no {what}s: {hint}", markup=False)
    if uncounted := int(capture.counted.get("uncounted", 0)):
        say.print(f"the counters of {uncounted} records could not all be read, and are 0 there", markup=False)
    if any(int(capture.counted.get(key, 0)) for key in _REST):
        received, sent = (capture.counted[key] for key in _REST)
        say.print(
            f"no record has {received} packets received and {sent} sent by CPUs that took no interrupt after them",
            markup=False,
        )
    if cost := cost_of(capture.counted, *_COST):
        say.print(cost_in_words(cost, *_COST, recorded=capture.records), markup=False)
