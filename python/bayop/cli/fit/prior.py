"""`bayop fit --prior`: the class of servers that studies are of, as a file for searches."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from typing import IO, TYPE_CHECKING

from rich.table import Table

from bayop.cli.fit.selections import Named, selections
from bayop.cli.terminal.new_files import check_out
from bayop.cli.terminal.output import console, new_table, print_json, progress
from bayop.errors import InputError
from bayop.files import write_whole
from bayop.model.servers import servers
from bayop.optimize.grey_box.learn import learn, lesson
from bayop.optimize.grey_box.prior import SHAPES
from bayop.optimize.server_class import ServerClass
from bayop.prior_file import PriorFile
from bayop.study import open_study
from bayop.units import round_significant

if TYPE_CHECKING:
    import polars as pl


def run(args: argparse.Namespace) -> int:
    """Learns, writes and prints."""
    _check_flags(args)
    cells = []
    for name, study in _studies(args.study):
        try:
            chosen = selections(args, study)
        except InputError as error:
            raise error.but(place=", ".join(filter(None, (name, error.place)))) from error
        cells += [pair for selection in chosen for pair in servers(selection.cells)]
    lessons = []
    with progress("servers", len(cells)) as bar:
        for problem, observations in cells:
            lessons.append(lesson(problem, observations))
            bar.advance()
    file = PriorFile(len(lessons), tuple(study.path.name for study in args.study), learn(lessons))
    write_whole(args.out, partial(_write, file))
    if args.json:
        print_json(_event(file, str(args.out)))
    else:
        console().print(f"[bold]{args.out}[/bold]: a class of servers, learned from {file.servers}")
        console().print(_table(file.server_class))
    return 0


def _check_flags(args: argparse.Namespace) -> None:
    for flag, value in (("--model", args.model), ("--method", args.method)):
        if value is not None:
            raise InputError("a class of servers must be of the search's own model", value=value, place=flag)
    if args.out is None:
        hint = "such as --out my.prior.toml"
        raise InputError("--prior must have a file to write", wrong="there is no --out", place="--out", hint=hint)
    check_out(args.out)


def _studies(given: Sequence[Named]) -> Iterator[tuple[str, pl.DataFrame]]:
    """The studies by name.

    Raises:
        InputError: two are the same: it would count twice, and the class look narrower than anything has shown.
    """
    seen: list[tuple[str, pl.DataFrame]] = []
    for name, path in given:
        study = open_study(path)
        for other, already in seen:
            if study.equals(already):
                rule, wrong = "a class must be learned from each study once", f"{name} has the trials of {other}"
                raise InputError(rule, wrong=wrong, value=name, place="STUDY", hint="leave one of the two out")
        seen.append((name, study))
        yield name, study


def _write(file: PriorFile, out: IO[bytes]) -> None:
    out.write(str(file).encode())


def _event(file: PriorFile, out: str) -> dict[str, object]:
    shapes = file.server_class.shapes.items()
    return {
        "event": "prior",
        "file": out,
        "servers": file.servers,
        "studies": list(file.studies),
        "parameters": {n: {"mean": round_significant(p.mean), "sd": round_significant(p.sd)} for n, p in shapes},
        "residual": {f"{scale:g}": round_significant(p) for scale, p in file.server_class.residual.items()},
    }


def _table(known: ServerClass) -> Table:
    table = new_table(caption="on the scale of the name; any server: the prior that comes with BayOp")
    for heading in ("parameter", "mean", "± sd", "any server", "± sd"):
        table.add_column(heading, justify="left" if heading == "parameter" else "right")
    for name, (mean, sd) in known.shapes.items():
        table.add_row(name, *(f"{value:.2f}" for value in (mean, sd, *SHAPES[name])))
    return table
