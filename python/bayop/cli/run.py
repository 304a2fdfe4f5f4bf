"""`bayop run`: keeps the services of a file at their sweet spot, for months."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from types import FrameType
from typing import TYPE_CHECKING, Final

from bayop.cli.flags import agent as agent_flags
from bayop.cli.flags import arguments
from bayop.cli.terminal import exit_codes
from bayop.cli.terminal.output import console, literal, print_json
from bayop.errors import InputError
from bayop.units import round_significant

if TYPE_CHECKING:
    from bayop.daemon.check import Finding
    from bayop.daemon.daemon import Daemon
    from bayop.daemon.report import Line

EXAMPLE: Final = """\
  bayop run bayop.toml --check
  bayop run bayop.toml
"""

_PROBLEMS: Final = 2
_STDERR: Final = 2
_YEAR_9999_S: Final = 253_370_764_800.0
"""Since 1970; years from then on can't be run to their end."""
_SAME_WORD_S: Final = 1.0
"""Signals that come together are one word: timeout(1) sends its own to the child, and to the child's whole group."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument(
        "file",
        type=arguments.reader(arguments.path, "FILE"),
        metavar="FILE",
        help="the services, such as /etc/bayop/bayop.toml; docs/operate.md has an example",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="say what would be done and what is missing, write nothing, and exit with 0 when all is there, else 2",
    )
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Runs until SIGTERM or Ctrl-C, then puts every machine's own settings back; 3 where that could not be done."""
    from bayop.daemon.daemon import Daemon
    from bayop.daemon.file import DaemonFile
    from bayop.daemon.journal import Journal, is_journal
    from bayop.daemon.notify import Notifier
    from bayop.daemon.outlet import Outlet
    from bayop.daemon.report import Line, Reporter
    from bayop.state.damage import rescue
    from bayop.state.store import StateError, Store

    file = DaemonFile.read(args.file)
    if args.check:
        from bayop.daemon.check import check

        return _show(check(file), json=args.json)
    clock = _clock()
    watchdog_us = os.environ.get("WATCHDOG_USEC", "")
    notifier = Notifier(os.environ.get("NOTIFY_SOCKET"), float(watchdog_us) / 1e6 if watchdog_us.isdecimal() else None)
    in_journal = is_journal(_STDERR, os.environ.get("JOURNAL_STREAM"))
    with (
        Outlet(Journal(_print_text).write if in_journal else _print_line) as lines,
        Outlet(print_json if args.json else _print_nothing) as events,
        Store(file.state) as store,
    ):
        reporter = Reporter(store, clock, lines.put, events.put)
        try:
            daemon = Daemon(file, store, reporter, notifier, holder=agent_flags.holder(args.verb))
        except StateError as error:  # nothing was begun yet
            raise InputError.of(error).but(hint=rescue(file.state)) from error
        _heed_signals(daemon, lambda text: lines.put(Line(text)))
        return exit_codes.DONE if daemon.run() else exit_codes.DRIFT


def _clock() -> Callable[[], float]:
    """Seconds since 1970 that never go back: the wall clock of the start, and the time that has passed since.

    Raises:
        InputError: no date of the years 1970 to 9998 is that of the clock.
    """
    began, offset = time.clock_gettime(time.CLOCK_BOOTTIME), time.time()
    if not 0 <= offset < _YEAR_9999_S:
        raise InputError(
            "the clock must show a year from 1970 to 9998",
            wrong=f"it shows {offset:.0f} s since 1970",
            hint="date --set",
        )
    return lambda: offset + time.clock_gettime(time.CLOCK_BOOTTIME) - began


def _heed_signals(daemon: Daemon, say: Callable[[str], None]) -> None:
    """SIGTERM and Ctrl-C end it, a second word of them at once; SIGHUP has the file read anew."""
    first_s: float | None = None

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal first_s
        del frame
        if first_s is None:
            first_s = time.monotonic()
            daemon.stop()
            say(f"{signal.Signals(number).name}: puts the machines' own settings back; again quits at once")
        elif time.monotonic() - first_s > _SAME_WORD_S:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    signal.signal(signal.SIGHUP, lambda *_: daemon.reload())


def _print_line(line: Line) -> None:
    _print_text(line.text)


def _print_text(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _print_nothing(_: Mapping[str, object]) -> None:
    """Programs were not asked for."""


def _show(findings: list[Finding], *, json: bool) -> int:
    for finding in findings:
        if json:
            print_json(_event(finding))
        else:
            _print_finding(finding)
    return _PROBLEMS if any(finding.problems for finding in findings) else exit_codes.DONE


def _event(finding: Finding) -> dict[str, object]:
    service = finding.service
    return {
        "event": "service",
        "service": service.name,
        "mode": service.mode,
        "agent": service.live.agent,
        "slo": str(service.slo),
        "would": finding.would,
        "seen": {name: round_significant(value) for name, value in finding.seen.items()},
        "notes": finding.notes,
        "problems": [
            {"message": problem.message, "place": problem.place, "hint": problem.hint} for problem in finding.problems
        ],
    }


def _print_finding(finding: Finding) -> None:
    screen, service = console(), finding.service
    screen.print(literal(f"{service.name}: mode {service.mode}, {service.live.agent}"))
    for line in finding.would:
        screen.print(literal(f"  {line}"))
    if finding.seen:
        names = [name for name in service.slo.quantities if name in finding.seen]
        seen = [f"{finding.seen['power_w']:.1f} W"]
        seen += [f"{name.removesuffix('_us')} {finding.seen[name]:.0f} us" for name in names]
        screen.print(literal(f"  now: {', '.join(seen)}"))
    for note in finding.notes:
        screen.print(literal(f"  note: {note}"))
    for problem in finding.problems:
        screen.print(literal(f"  missing: {problem.message}"), style="bold red")
        if problem.hint:
            screen.print(literal(f"  hint: {problem.hint}"))
