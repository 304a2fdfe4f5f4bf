"""`bayop load`: an open-loop load generator that measures what clients see."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bayop.cli import load_flags
from bayop.cli.output import console, print_json
from bayop.errors import InputError

if TYPE_CHECKING:
    from bayop._core import Stored
    from bayop.load.generator import Result
    from bayop.load.plan import Plan

EXAMPLE: Final = """\
  bayop load -s 127.0.0.1 -q 50kqps -c 8                      # memcached, Poisson arrivals
  bayop load -s 127.0.0.1 -q 50kqps -c 8 --workload etc       # Facebook's ETC pool
  bayop load -s 127.0.0.1 --binary --closed-loop -c 16 -d 4   # memcached's binary protocol, at its peak
  bayop load -s 127.0.0.1 --protocol redis -q 20kqps -u 10% --popularity zipf:0.99
  bayop load -s 127.0.0.1 --protocol http --path /index.html -q 5kqps -c 32
  bayop load -s 127.0.0.1 --protocol echo --closed-loop --message-size 8192   # NetPIPE's ping-pong
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    load_flags.add_target(parser)
    load_flags.add_workload(parser)
    load_flags.add_generator(parser)
    load_flags.add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Stores the records, loads the server and prints what was seen; 1 when the result is no good."""
    from bayop.load import generator

    plan = load_flags.plan_of(args)
    if not args.noload:
        stored = generator.preload(plan)
        _print_stored(stored, json=args.json)
    if args.loadonly:
        return 0
    result = generator.run(plan)
    _write_files(args, result)
    if args.json:
        print_json(event(plan, result))
    else:
        from bayop.cli.load_display import show_result

        show_result(plan, result)
    if result.report.interrupted:
        raise KeyboardInterrupt
    return 1 if result.problems else 0


def event(plan: Plan, result: Result) -> dict[str, object]:
    """The result for programs."""
    return {
        "event": "result",
        "servers": list(plan.servers),
        "protocol": plan.dialect,
        "offered_qps": result.offered_qps,
        "achieved_qps": result.achieved_qps,
        "duration_s": result.duration_s,
        "latency": [
            {"quantile": q.quantile, "value_us": q.value_us, "low_us": q.low_us, "high_us": q.high_us}
            for q in result.quantiles()
        ],
        "mean_us": result.report.mean_us,
        "miss_ratio": result.miss_ratio,
        "counts": result.counts,
        "lateness": result.lateness,
        "troubles": result.troubles,
        "problems": result.problems,
        "valid": not result.problems,
        "ended_early": result.report.ended_early,
    }


def _print_stored(stored: Stored, *, json: bool) -> None:
    if json:
        print_json({"event": "stored", **stored})
    elif stored["records"]:
        console().print(
            f"Stored and read back {stored['records']:,} records, {stored['value_bytes']:,} bytes of values."
        )


def _write_files(args: argparse.Namespace, result: Result) -> None:
    if args.hgrm is not None:
        _write(args.hgrm, "--hgrm", result.report.to_hgrm())
    if args.save is not None:
        import numpy as np

        rows = np.frombuffer(result.report.samples(), dtype=np.uint64).reshape(-1, 3)
        lines = "\n".join(",".join(map(str, row)) for row in rows.tolist())
        _write(args.save, "--save", f"intended_ns,sent_ns,received_ns\n{lines}\n")


def _write(path: Path, flag: str, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError("the file can be written", value=str(path), place=flag, hint=error.strerror) from error
