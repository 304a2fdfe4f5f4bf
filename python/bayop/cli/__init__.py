"""The command line: a file or folder per verb, each of which parses, calls and prints.

A verb module has `add_arguments(parser)`, `run(args) -> int` (the exit code) and `EXAMPLE`, which `--help` shows.
Only the module of the verb that was asked for is imported; all are where a file of defaults has to be checked.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from bayop.cli import defaults
from bayop.cli.flags.actions import with_flag
from bayop.cli.parser import build_parser, verb_of
from bayop.cli.terminal import exit_codes, streams
from bayop.cli.terminal.output import print_json
from bayop.cli.terminal.signals import unwinding
from bayop.errors import BayopError, printable, reason


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb and returns its exit code, as `exit_codes` lists them."""
    # The matrices here are small: a second thread costs more than it brings, and takes a core from the service.
    for library in ("OPENBLAS", "OMP"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    # A terminal of no columns is one that does not know how many it has; tables would have no room at all.
    if os.environ.get("COLUMNS") == "0":
        del os.environ["COLUMNS"]
    arguments = list(sys.argv[1:] if argv is None else argv)
    with streams.guard():
        try:
            return _run(arguments)
        except BayopError as error:
            return _tell(error, json="--json" in arguments)
        except OSError as error:
            # Whatever writes files says which; this is for disks that are full where nobody thought of it.
            where = f"{error.filename}: " if error.filename else ""
            return _tell(BayopError(wrong=f"{where}{reason(error)}"), json="--json" in arguments)
        except KeyboardInterrupt:
            sys.stderr.write("interrupted\n")
            return exit_codes.INTERRUPTED


def _run(arguments: Sequence[str]) -> int:
    try:
        parser = build_parser(arguments)
        if verb_of(arguments) not in (None, "config", "help"):
            defaults.apply(parser)
        args = parser.parse_args(arguments)
        try:
            with unwinding():
                return int(args.run(args))
        except BayopError as error:
            named = with_flag(error, args)
            if named is error:
                raise
            raise named from error
    finally:
        sys.stdout.flush()


def _tell(error: BayopError, *, json: bool) -> int:
    if not isinstance(error, streams.ReaderLeftError):
        if json:
            with suppress(streams.StdoutError):
                print_json(error.to_json())
        report_error(error)
    return error.exit_code


def report_error(error: BayopError) -> None:
    """One clear message on stderr: what is wrong, rule and place; then what to do."""
    for what, text in (("error", error.message), ("hint", error.hint)):
        if text:
            sys.stderr.write(f"{what}: {printable(text)}\n")
