"""`bayop idle record`: traces of idle periods from a running kernel."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Final

from bayop.cli.flags import arguments
from bayop.cli.flags.recorder import add_cost, add_recorder, cost_in_words, cost_of
from bayop.cli.terminal import exit_codes
from bayop.cli.terminal.output import console, print_json

EXAMPLE: Final = """\
  bayop idle record --duration 30s --out traces
  bayop idle record --recorder 'ssh root@server bayop-idle-record' --cost --out traces
  bayop idle replay traces/cpu*.csv.gz --machine own
"""

_PROGRAM: Final = "bayop-idle-record"
_COST: Final = ("stay", 100)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    add_recorder(parser, _PROGRAM)
    add_cost(parser)
    parser.add_argument(
        "--out",
        type=arguments.reader(arguments.path, "--out"),
        required=True,
        metavar="DIR",
        help="a trace for each CPU that was idle: cpuN.csv.gz",
    )
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Records, and writes a trace for each CPU; 1 when there was nothing to record."""
    from bayop.errors import unwritable
    from bayop.files import make_folder
    from bayop.idle import stays
    from bayop.idle.recorder import record
    from bayop.idle.trace import Trace, write_trace

    make_folder(args.out)
    recording = record(args.recorder or [_PROGRAM], duration_s=args.duration, cost=args.cost)
    for cpu, of_cpu in recording.of_cpu.items():
        path = args.out / f"cpu{cpu}.csv.gz"
        try:
            write_trace(Trace(path.stem, tuple(stays.periods(of_cpu)), tuple(of_cpu)), path)
        except OSError as error:
            raise unwritable(path, error, place="--out") from error
    summary = recording.summary
    if args.json:
        told = {key: summary.get(key) for key in ("stays", "lost", "duration_s", "governor", "driver", "timers")}
        told |= {"cpus": len(recording.of_cpu), **cost_of(summary, *_COST)}
        print_json({"event": "recorded", "out": str(args.out), **told})
    else:
        _print(len(recording.of_cpu), summary, str(args.out))
    return exit_codes.DONE if recording.of_cpu else exit_codes.NO_GOOD


def _print(cpus: int, summary: Mapping[str, object], out: str) -> None:
    say, stays = console(), int(str(summary["stays"]))
    if cpus:
        what = f"{stays} stay{'s' * (stays != 1)} of {cpus} CPU{'s' * (cpus != 1)} in {out}"
    else:
        what = "nothing was recorded: no CPU was idle, or none went idle anew; record for longer"
    say.print(f"{what}; {summary['lost']} lost", markup=False)
    if summary.get("driver") == "none":
        say.print(
            "no driver of idle states is loaded here: the CPUs halt, and nothing chooses how deeply", markup=False
        )
    elif not summary.get("timers"):
        say.print(
            "this kernel does not show its timers (Linux 6.2 or CONFIG_KALLSYMS_ALL): they are not in the traces",
            markup=False,
        )
    if cost := cost_of(summary, *_COST):
        say.print(cost_in_words(cost, *_COST, recorded=stays), markup=False)
