"""`bayop fit`: fits the published model and BayOp's own to a study, and says how good they are; or learns a prior."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bayop.cli.fit.selections import named, selections
from bayop.cli.flags import arguments
from bayop.cli.terminal.output import Bar, console, print_json, progress
from bayop.errors import InputError
from bayop.units import parse_quantity

if TYPE_CHECKING:
    from bayop.model.cells import Selection
    from bayop.model.examine import Examination, Model

EXAMPLE: Final = """\
  bayop fit example:memcached
  bayop fit example:memcached --model published --method adam
  bayop fit example:silo --load 200kqps --min-delay 50us --out fits --json
  bayop fit --prior example:memcached example:silo --out caches.prior.toml
"""

MODELS: Final = ("published", "grey-box")
METHODS: Final = ("least-squares", "adam")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument(
        "study",
        nargs="+",
        type=arguments.reader(named, "STUDY"),
        metavar="STUDY",
        help="trials at fixed ITR-delays and frequencies: a study of ours or a published file; several for --prior",
    )
    parser.add_argument(
        "--prior",
        action="store_true",
        help="learn what the studies' servers have in common and write it to --out, for --prior of a search",
    )
    parser.add_argument("--os", help="only this operating system (default: each one in the study)")
    arguments.add_load(parser, required=False)
    arguments.add_slo(parser)
    parser.add_argument(
        "--min-delay",
        type=arguments.reader(_delay_us, "--min-delay"),
        default=0.0,
        metavar="TIME",
        help="only ITR-delays from here on; the authors fit from 50us (default: every one above 0)",
    )
    parser.add_argument("--model", choices=MODELS, help="only this model (default: both)")
    parser.add_argument(
        "--method",
        choices=METHODS,
        help="how the published model is fitted; adam, as published, needs the extra `torch` (default: least-squares)",
    )
    arguments.add_seed(parser)
    arguments.add_json(parser)
    parser.add_argument(
        "--out",
        type=arguments.reader(arguments.path, "--out"),
        metavar="DIR|FILE",
        help="write figures there: predicted against measured (default: none); with --prior, the new file of the class",
    )


def run(args: argparse.Namespace) -> int:
    """Fits, validates and prints."""
    if args.prior:
        from bayop.cli.fit import prior

        return prior.run(args)
    if len(args.study) > 1:
        raise InputError(
            "a fit must be of one study", value=args.study[1].name, place="STUDY", hint="several go with --prior"
        )
    if args.method is not None and args.model == "grey-box":
        rule = "a method must go with the published model; the grey box is fitted by least squares"
        raise InputError(rule, value=args.method, place="--method")
    from bayop.cli.fit import tables
    from bayop.model.examine import fits_needed
    from bayop.study import open_study

    if args.out is not None:
        from bayop.files import make_folder

        make_folder(args.out)
    chosen = selections(args, open_study(args.study[0].path))
    models: tuple[Model, ...] = (args.model,) if args.model else MODELS
    with progress("fits", len(models) * sum(fits_needed(s.cells) for s in chosen)) as bar:
        results = [(selection, list(_examinations(args, selection, models, bar))) for selection in chosen]
    for selection, examinations in results:
        if args.json:
            for event in tables.events(selection, examinations):
                print_json(event)
        else:
            for part in tables.tables(selection, examinations):
                console().print(part)
        if args.out is not None:
            _write_figures(args.out, selection, examinations)
    return 0


def _examinations(
    args: argparse.Namespace, selection: Selection, models: tuple[Model, ...], bar: Bar
) -> Iterator[Examination]:
    from bayop.model.examine import examine

    for model in models:
        try:
            yield examine(
                selection.cells, model, method=args.method or "least-squares", seed=args.seed, on_fit=bar.advance
            )
        except InputError as error:
            where = ", ".join(part for part in (selection.os, f"{model} model", error.place) if part)
            raise error.but(place=where) from error


def _write_figures(folder: Path, selection: Selection, examinations: list[Examination]) -> None:
    from bayop.report.model import draw_predictions
    from bayop.report.style import bayop_style
    from bayop.report.svg import Drawing, save

    for examination in examinations:
        name = "_".join(part for part in ("model", selection.os, examination.model.replace("-", "_")) if part)
        with bayop_style():
            figure = draw_predictions(examination)
        title = f"The {examination.model} model's predictions against measurements"
        save(Drawing(name, title, title, "", figure), folder)


def _delay_us(text: str) -> float:
    value = parse_quantity(text, "us")
    if value < 0.0:
        raise InputError("a delay must not be negative", value=text)
    return value
