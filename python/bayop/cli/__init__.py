"""The command line: one file per verb, each of which parses, calls and prints.

A verb module has `add_arguments(parser)`, `run(args) -> int` (the exit code) and `EXAMPLE`, which `--help` shows.
Only the module of the verb that was asked for is imported.

Exit codes are those that `bayop --help` lists, 130 for Ctrl-C where there is nothing to hold, and 143 for SIGTERM,
which takes down whatever a verb has set up: a machine that is tuned is restored.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Final, NoReturn

from bayop import __version__
from bayop.errors import BayopError, InputError

VERBS: Final[dict[str, str]] = {
    "demo": "play a day of changing load on the digital twin and write a report about it",
    "tune": "search for the setting that meets the SLO for the least power, and hold it",
    "doctor": "say what a machine lets BayOp control and measure, and calibrate its NIC",
    "knobs": "list what BayOp can set, on any machine or on one",
    "live": "sweep and search NAPI deferral under a real memcached, in namespaces of this machine",
    "load": "load a server in an open loop and measure the latency that its clients see",
    "probe": "measure what a service's clients see, from a few requests beside the production traffic",
    "twin": "run the digital twin, compare it with measurements, and fit it to them",
    "sweep": "measure every setting of a design, in several processes or on a Ray cluster, into a study",
    "study": "look at tables of trials, join them, and bring them into another format",
    "report": "say what studies show: fronts, best settings, savings, with figures on a page",
    "fit": "fit the published model of latency and energy, and BayOp's own, to a study",
    "interrupts": "show what logs with one record per interrupt hold, and convert them",
    "carbon": "compare the carbon of a request on different machines and operating systems",
    "claims": "recompute every quantitative claim of the papers from their raw data and the twin",
}

EXAMPLE: Final = """\
  bayop demo
  bayop tune --load 400kqps --slo 'p99<500us'
  bayop twin run --load 400kqps
"""

_EXIT_CODES: Final = """\
exit codes:
  0  done
  1  done but no good: no setting meets the SLO, or it is broken
  2  bad usage or input
  3  drift: what is applied is not what was asked
  4  this machine or installation can't
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb and returns its exit code."""
    # The matrices here are small: a second thread costs more than it brings, and takes a core from the service.
    for library in ("OPENBLAS", "OMP"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        with _sigterm_unwinds():
            args = build_parser(arguments).parse_args(arguments)
            return int(args.run(args))
    except BayopError as error:
        report_error(error)
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130
    except BrokenPipeError:
        # The reader of our output (head, less) has gone; nobody is left to tell.
        sys.stderr.close()
        return 1


@contextmanager
def _sigterm_unwinds() -> Iterator[None]:
    """Makes SIGTERM an exception, so that a verb restores what it has changed; a second one does not interrupt that."""

    def unwind(number: int, _frame: object) -> NoReturn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, unwind)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def build_parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """The parser; of all verbs only the one in `arguments` is loaded."""
    parser = _Parser(
        prog="bayop",
        description="Finds and holds the setting that meets a latency SLO for the least power.",
        epilog=f"examples:\n{EXAMPLE}\n{_EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"bayop {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    asked = next((a for a in arguments if not a.startswith("-")), None)
    for verb, summary in VERBS.items():
        module = import_module(f"bayop.cli.{verb}") if verb == asked else None
        verb_parser = verbs.add_parser(
            verb,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog=f"examples:\n{module.EXAMPLE}" if module else None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        if module:
            module.add_arguments(verb_parser)
            verb_parser.set_defaults(run=module.run)
    return parser


def report_error(error: BayopError) -> None:
    """One clear message on stderr: place, rule and value; then what to do."""
    sys.stderr.write(f"error: {error.message}\n")
    if error.hint:
        sys.stderr.write(f"hint: {error.hint}\n")


class _Parser(argparse.ArgumentParser):
    """argparse with this project's error messages."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:  # noqa: ANN401
        """As argparse does, but the parser that meets an unknown argument refuses it, and not its parents."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            close = get_close_matches(unknown[0], self._option_string_actions, n=1)
            see = f"see {self.prog} --help"
            raise InputError(
                "the argument is unknown",
                value=unknown[0],
                place=self.prog,
                hint=f"did you mean {close[0]}? {see}" if close else see,
            )
        return found, unknown

    def error(self, message: str) -> NoReturn:
        raise InputError(message, hint=f"see {self.prog} --help")
