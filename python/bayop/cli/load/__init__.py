"""`bayop load`: an open-loop load generator that measures what clients see."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from bayop.cli.load import events, expectations, flags, steps
from bayop.cli.load.plan import plan_of
from bayop.cli.load.watching import run_watched
from bayop.cli.terminal.new_files import check_new, create
from bayop.cli.terminal.output import console, print_json
from bayop.errors import InputError
from bayop.files import check_writable

if TYPE_CHECKING:
    from pathlib import Path

    from bayop._core import Stored
    from bayop.load.experiment import Runner
    from bayop.load.generator import Result
    from bayop.load.plan import Plan

EXAMPLE: Final = """\
  bayop load -s 127.0.0.1 -q 50kqps -c 8                      # memcached, Poisson arrivals
  bayop load -s 127.0.0.1 -q 50kqps -c 8 --workload etc       # Facebook's ETC pool
  bayop load -s 127.0.0.1 --binary --closed-loop -c 16 -d 4   # memcached's binary protocol, at its peak
  bayop load -s 127.0.0.1 --closed-loop --think-time 10ms -c 50   # fifty clients that think
  bayop load -s 127.0.0.1 --protocol redis -q 20kqps -u 10% --popularity zipf:0.99
  bayop load -s 127.0.0.1 --protocol http --path /index.html -q 5kqps -c 32
  bayop load -s 127.0.0.1 --protocol http --path '/item/{n}' -r 1000 -q 5kqps -c 32
  bayop load -s 127.0.0.1 --protocol http --header 'Accept-Encoding: gzip' --header 'Cookie: id={n}' -q 5kqps
  bayop load -s 127.0.0.1 --protocol http2 --path /index.html --closed-loop -d 16 -c 4
  bayop load -s 127.0.0.1:50051 --protocol grpc --path /helloworld.Greeter/SayHello --body hello.bin -q 5kqps
  bayop load -s 127.0.0.1 --protocol http --method POST --path /orders --body orders/ -q 5kqps   # a folder of bodies
  bayop load -s www.example.org --protocol http --tls -q 100qps   # HTTPS
  bayop load -s 127.0.0.1 --search 99:500us -c 16             # the highest load with p99 below 500 us
  bayop load -s 127.0.0.1 -q 50kqps -c 8 --expect 'p99<500us' --expect 'qps>95%'   # exit code 1 when missed
  bayop load -s 127.0.0.1 --curve twitter --peak 100kqps --hour 10s -c 16
  bayop load -s 127.0.0.1 --protocol echo --closed-loop --message-size 8192   # NetPIPE's ping-pong
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    flags.add_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Stores the records, loads the server and prints what was seen; 1 when that is no good, or not as expected."""
    from bayop.load import generator, peers

    if args.agent:
        peers.serve(
            args.listen, weight=args.lambda_mul, on_event=lambda event: print(event, file=sys.stderr, flush=True)
        )
    plan = plan_of(args)
    expectations.check_flags(args, plan)
    _check_files(args)
    with ExitStack() as stack:
        runner: Runner = generator.run
        if args.with_agent:
            measuring = peers.Measuring(
                qps=args.measure_qps, connections=args.measure_connections, depth=args.measure_depth
            )
            runner = stack.enter_context(peers.Coordinator(args.with_agent, measuring)).run
        if not args.noload:
            _print_stored(generator.preload(plan), json=args.json)
        if args.loadonly:
            return 0
        if args.scan or args.search:
            return steps.run(args, plan, runner)
        return _run_once(args, plan, runner if args.with_agent else run_watched)


def _check_files(args: argparse.Namespace) -> None:
    """Refuses, before anything is sent, files that nothing could be written to.

    Raises:
        InputError: there is no one result, or a file is there already, can't be written, or is given twice.
    """
    for flag, path in (("--hgrm", args.hgrm), ("--save", args.save)):
        if path is None:
            continue
        if args.scan or args.search:
            other = "--search" if args.search else "--scan"
            raise InputError(
                "what is written must be of one load",
                wrong=f"both {flag} and {other} were given",
                place=flag,
                hint="leave out one of them",
            )
        check_writable(path, place=flag)
        check_new(path, place=flag)
    if args.save is not None and args.hgrm is not None and args.save.resolve() == args.hgrm.resolve():
        raise InputError(
            "what is written must have a file each", wrong="--hgrm and --save are one file", place="--save"
        )


def _run_once(args: argparse.Namespace, plan: Plan, runner: Runner) -> int:
    from bayop.load.expectation import judge

    result = runner(plan)
    if args.json:
        print_json({"event": "result", **events.result(plan, result)})
    else:
        from bayop.cli.load.display import show_result

        show_result(plan, result)
    all_met = expectations.print_verdicts(judge(result, args.expect), json=args.json)
    if not result.report.interrupted or result.counts["intended"]:
        create(_files(args, result))
    if result.report.interrupted:
        raise KeyboardInterrupt
    return 0 if all_met and not result.problems else 1


def _print_stored(stored: Stored, *, json: bool) -> None:
    if json:
        print_json({"event": "stored", **stored})
    elif stored["records"]:
        console().print(
            f"Stored and read back {stored['records']:,} records, {stored['value_bytes']:,} bytes of values."
        )


def _files(args: argparse.Namespace, result: Result) -> dict[Path, str]:
    """What is written where."""
    files: dict[Path, str] = {}
    if args.hgrm is not None:
        files[args.hgrm] = result.report.to_hgrm()
    if args.save is not None:
        import numpy as np

        rows = np.frombuffer(result.report.samples(), dtype=np.uint64).reshape(-1, 3)
        lines = "\n".join(",".join(map(str, row)) for row in rows.tolist())
        files[args.save] = f"intended_ns,sent_ns,received_ns\n{lines}\n"
    return files
