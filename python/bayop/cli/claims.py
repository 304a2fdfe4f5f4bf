"""`bayop claims`: every quantitative claim of the papers, recomputed from raw data, twin and library OS."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bayop.cli.flags import arguments
from bayop.cli.terminal.output import console, literal, new_table, print_json, progress
from bayop.errors import InputError, unwritable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayop.papers.claims.claim import Claim
    from bayop.papers.claims.record import Row

EXAMPLE: Final = """\
  bayop claims --data ../shared/data
  bayop claims --only open-loop-43,netpipe-64k-energy-linux --json
  bayop claims --page docs/claims.md --record docs/claims.jsonl
"""

_SEED: Final = 0
_LIBOS: Final = Path("bench/libos/results/2026-11-30-2cpu-x86_64/windows.jsonl")
_COLOURS: Final = {
    "reproduced": "green", "as a ratio only": "yellow", "partly": "yellow", "not": "red", "not testable": "dim"
}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument(
        "--data",
        type=arguments.reader(arguments.path, "--data"),
        default=Path("../shared/data"),
        metavar="FOLDER",
        help="folder of the published measurements (default: ../shared/data)",
    )
    parser.add_argument(
        "--libos",
        type=arguments.reader(arguments.path, "--libos"),
        metavar="FILE",
        help="instructions counted on the library OS and on Linux by `python -m bench.libos.run` "
        f"(default: {_LIBOS}, where the current folder has it)",
    )
    parser.add_argument("--only", metavar="ID,...", help="only these claims (default: all, which takes some minutes)")
    parser.add_argument(
        "--page",
        type=arguments.reader(arguments.path, "--page"),
        metavar="FILE",
        help="write the page of the documentation as well, of all claims",
    )
    parser.add_argument(
        "--record",
        type=arguments.reader(arguments.path, "--record"),
        metavar="FILE",
        help="write the findings as JSON lines as well",
    )
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Examines the claims and prints a row for each."""
    from bayop.papers.claims.catalogue import CLAIMS
    from bayop.papers.claims.evidence import Evidence
    from bayop.papers.claims.page import render_page
    from bayop.papers.claims.record import Row, to_lines

    libos = args.libos or (_LIBOS if _LIBOS.is_file() else None)
    if args.page is not None:
        _check_page(args, libos)
    claims = _selection(CLAIMS, args.only)
    evidence = Evidence(args.data, seed=_SEED, threads=os.cpu_count() or 1, libos=libos)
    rows = []
    with progress("claims", len(claims)) as bar:
        for claim in claims:
            rows.append(Row.of(claim, claim.examine(evidence)))
            bar.advance()
            if args.json:
                print_json({"event": "claim", **rows[-1].to_json()})
    for path, text in ((args.page, render_page), (args.record, to_lines)):
        if path is not None:
            _write(path, text(rows))
    if not args.json:
        _print(rows, libos)
    return 0


def _check_page(args: argparse.Namespace, libos: Path | None) -> None:
    if args.only is not None:
        rule, wrong, hint = "the page must have every claim", f"--only {args.only} leaves some out", "leave --only out"
    elif libos is None:
        rule, wrong = "the page must have what was counted on the library OS", f"there is no {_LIBOS}"
        hint = "say --libos FILE, or go to the folder of the repository"
    else:
        return
    raise InputError(rule, wrong=wrong, value=str(args.page), place="--page", hint=hint)


def _selection(claims: Sequence[Claim], only: str | None) -> list[Claim]:
    by_id = {claim.id: claim for claim in claims}
    if only is None:
        return list(claims)
    ids = [part.strip() for part in only.split(",")]
    for id_ in ids:
        if id_ not in by_id:
            raise InputError(
                wrong=f"there is no claim {id_!r}", value=id_, place="--only", hint=f"claims: {', '.join(by_id)}"
            )
    return [by_id[id_] for id_ in dict.fromkeys(ids)]


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise unwritable(path, error) from error


def _print(rows: Sequence[Row], libos: Path | None) -> None:
    from bayop.papers.claims.page import say_library_os, say_numbers

    caption = "Savings are true reductions; docs/claims.md says how verdicts are given."
    table = new_table(caption if libos else f"{caption} The library OS is left out: --libos FILE has what was counted.")
    for column in ("claim", "printed", "data", "twin", "library OS", "verdict"):
        table.add_column(column, overflow="fold")
    for row in rows:
        verdict = row.verdict.value
        table.add_row(
            literal(f"[{row.paper}] {row.statement}"),
            literal(row.printed),
            literal(say_numbers(row.data)),
            literal(say_numbers(row.twin)),
            literal(say_library_os(row)),
            f"[{_COLOURS[verdict]}]{verdict}[/]",
        )
    console().print(table)
