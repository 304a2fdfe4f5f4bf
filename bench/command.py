"""What benchmarks have in common as commands: their flags, and what they find, written down or refused in one line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from bench.results import write_folder, write_results
from rich.console import Console

from bayop.cli import report_error
from bayop.errors import BayopError, InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

R = TypeVar("R", bound="DataclassInstance")


def chosen(text: str, known: Collection[str], *, what: str, flag: str) -> tuple[str, ...]:
    """The names of a flag's text, between commas.

    Raises:
        InputError: one of them is not known.
    """
    names = tuple(text.split(","))
    for name in names:
        if name not in known:
            hint = f"there are {', '.join(known)}"
            raise InputError(wrong=f"there is no {what} {name!r}", value=name, place=flag, hint=hint)
    return names


class Results(NamedTuple):
    """What a benchmark has found, as `write_results` takes it."""

    tables: Mapping[str, Sequence[DataclassInstance]]
    summary: str


def flags_of(module: str, says: str | None, *, examples: str | None = None) -> argparse.ArgumentParser:
    """The flags of a benchmark, `--out` so far.

    Args:
        module: What runs, such as `bench.hold.run`.
        says: Its docstring.
        examples: What stands below the flags.
    """
    flags = argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=says,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    flags.add_argument("--out", type=Path, metavar="FOLDER", help="default: results/<date>-<kind of machine>")
    return flags


def count(text: str) -> int:
    """The value of a flag that says how many.

    Raises:
        argparse.ArgumentTypeError: it is less than one.
        ValueError: it is no whole number.
    """
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {text}")
    return number


def run_benchmark(
    module: str,
    flags: argparse.ArgumentParser,
    argv: Sequence[str] | None,
    measure: Callable[[argparse.Namespace, Console], Results],
) -> int:
    """Measures what the flags ask for and writes the results, or says why there are none.

    Args:
        module: What runs.
        flags: Those of `flags_of`, and its own.
        argv: Their values; None for those that this process was given.
        measure: What makes the results; it tells people of its progress.

    Returns:
        The exit code.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    args = flags.parse_args(arguments)
    console = Console(stderr=True, highlight=False)
    try:
        results = measure(args, console)
    except BayopError as error:
        report_error(error)
        return error.exit_code
    write_results(module, arguments, results.tables, results.summary, out=args.out, console=console)
    return 0


def collect(
    module: str,
    flags: argparse.ArgumentParser,
    argv: Sequence[str] | None,
    measure: Callable[[argparse.Namespace], Iterable[R]],
    *,
    say: Callable[[R], str],
    table: Callable[[Sequence[R]], str],
    as_it_goes: bool = False,
) -> int:
    """Tells of each row as it comes, and writes all of them, or says why there are no more.

    Args:
        module: As of `run_benchmark`.
        flags: Likewise.
        argv: Likewise.
        measure: What makes the rows.
        say: What people are told of one.
        table: The summary.
        as_it_goes: Whether those so far are written after each, for when there are no more.

    Returns:
        The exit code.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)

    def collected(args: argparse.Namespace, console: Console) -> Results:
        rows = []
        for row in measure(args):
            rows.append(row)
            console.print(say(row))
            if as_it_goes:
                write_folder(module, arguments, {"raw": rows}, table(rows), out=args.out)
        return Results({"raw": rows}, table(rows))

    return run_benchmark(module, flags, arguments, collected)
