"""`bayop fit --prior`: the class of servers that studies are of, as a file for searches."""

from __future__ import annotations

import argparse

from rich.table import Table

from bayop.cli.terminal.output import console, new_table, print_json, progress
from bayop.errors import InputError, unwritable
from bayop.model.cells import select
from bayop.model.servers import servers
from bayop.optimize.grey_box.learn import learn, lesson
from bayop.optimize.grey_box.prior import SHAPES
from bayop.optimize.server_class import ServerClass
from bayop.prior_file import PriorFile
from bayop.study import open_study
from bayop.units import round_significant


def run(args: argparse.Namespace) -> int:
    """Learns, writes and prints."""
    _check_flags(args)
    loads = [] if args.load is None else [args.load]
    cells = []
    for path in args.study:
        study = open_study(path)
        try:
            selections = select(study, args.slo, loads=loads, os=args.os, least_delay_us=args.min_delay)
        except InputError as error:
            raise error.at(str(path)) from error
        cells += [pair for selection in selections for pair in servers(selection.cells)]
    lessons = []
    with progress("servers", len(cells)) as bar:
        for problem, observations in cells:
            lessons.append(lesson(problem, observations))
            bar.advance()
    file = PriorFile(len(lessons), tuple(path.name for path in args.study), learn(lessons))
    try:
        args.out.write_text(str(file), encoding="utf-8")
    except OSError as error:
        raise unwritable(args.out, error, place="--out") from error
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
    if args.out.is_dir() or not args.out.parent.is_dir():
        raise InputError("--out must be a file in a folder that is there", value=args.out, place="--out")


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
