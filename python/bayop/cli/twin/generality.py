"""`bayop twin generality`: what a search saves for services of microseconds to seconds on machines that differ."""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bayop import __version__
from bayop.cli.flags import arguments
from bayop.cli.terminal.output import console, new_table, print_json, progress
from bayop.cli.twin import flags
from bayop.errors import InputError
from bayop.space import AUTO, format_value, plain_setting
from bayop.units import round_significant

if TYPE_CHECKING:
    from rich.table import Table

    from bayop.experiments.generality.record import Outcome

EXAMPLE: Final = """\
  bayop twin generality
  bayop twin generality --services xapian,sphinx --machines epyc-ena --seeds 1 --out look
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument("--services", metavar="NAME,...", help="memcached, img-dnn, xapian, sphinx (default: all)")
    parser.add_argument(
        "--machines",
        metavar="NAME,...",
        help="xeon-e5-2690, xeon-e5-2630-v3, xeon-silver-4314, epyc-ena (default: all)",
    )
    parser.add_argument(
        "--seeds",
        type=arguments.reader(arguments.whole_number(1, 1000), "--seeds"),
        default=3,
        metavar="N",
        help="searches at each load of each case (default: 3)",
    )
    arguments.add_seed(parser)
    flags.add_threads(parser)
    arguments.add_report_folder(parser, default="bayop-generality")
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Runs the experiment, prints it, and writes outcomes.jsonl and the figure; 1 when a search broke an SLO."""
    from bayop.experiments.generality.play import MACHINES, SLOS, cases, play
    from bayop.experiments.generality.record import LOAD_SHARES
    from bayop.files import make_folder
    from bayop.report.generality import drawing
    from bayop.report.style import bayop_style
    from bayop.report.svg import save

    services = _selection(args.services, tuple(SLOS), "--services")
    machines = _selection(args.machines, MACHINES, "--machines")
    todo = cases(services, machines)
    seeds = range(args.seed, args.seed + args.seeds)
    make_folder(args.out)
    outcomes: list[Outcome] = []
    with progress("searches", len(todo) * len(LOAD_SHARES) * len(seeds)) as bar:
        for batch in play(todo, seeds, threads=args.threads, on_search=bar.advance):
            outcomes += batch
            for outcome in batch if args.json else ():
                print_json(event(outcome))
    _write(outcomes, args.out)
    with bayop_style():
        save(drawing(outcomes), args.out)
    if not args.json:
        console().print(_table(outcomes))
        for line in summary(outcomes):
            console().print(line)
        console().print(f"[bold]Written:[/bold] {args.out}")
    return 0 if all(o.meets_slo for o in outcomes) else 1


def event(outcome: Outcome) -> dict[str, object]:
    """One search for programs."""
    plain = {field.name: getattr(outcome, field.name) for field in fields(outcome)}
    rounded = {name: round_significant(v) if isinstance(v, float) else v for name, v in plain.items()}
    return {"event": "outcome", **rounded, "setting": plain_setting(outcome.setting)}


def summary(outcomes: Sequence[Outcome]) -> list[str]:
    """What the experiment says, in sentences: the spread of savings at each load, and whether the SLOs held."""
    from bayop.experiments.generality.record import PUBLISHED, TAILBENCH

    lines = []
    tailbench = [o for o in outcomes if o.service in TAILBENCH]
    for share in sorted({o.load_share for o in tailbench}):
        savings = [o.saving for o in tailbench if o.load_share == share]
        lines.append(
            f"Tailbench at {share:.0%} of peak: {min(savings):.1%} to {max(savings):.1%} of power saved, "
            f"median {statistics.median(savings):.1%}; the paper reports {PUBLISHED[0]:.0%} to {PUBLISHED[1]:.0%}"
        )
    count = sum(o.meets_slo for o in outcomes)
    trials = statistics.fmean(o.trials for o in outcomes)
    lines.append(f"SLO met by what was held: {count} of {len(outcomes)} searches, of {trials:.1f} trials on average")
    return lines


def _selection(text: str | None, all_names: tuple[str, ...], flag: str) -> tuple[str, ...]:
    """The names that a flag lists, or all of them."""
    names = all_names if text is None else tuple(name.strip() for name in text.split(","))
    unknown = [name for name in names if name not in all_names]
    if unknown:
        raise InputError(
            wrong=f"the experiment has no {unknown[0]!r}",
            value=unknown[0],
            place=flag,
            hint=f"it has {', '.join(all_names)}",
        )
    return tuple(dict.fromkeys(names))


def _write(outcomes: Sequence[Outcome], folder: Path) -> None:
    """The outcomes as JSON lines; the first says what made them."""
    lines = [{"event": "start", "bayop_version": __version__}, *(event(o) for o in outcomes)]
    text = "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines)
    (folder / "outcomes.jsonl").write_text(text, encoding="utf-8")


def _table(outcomes: Sequence[Outcome]) -> Table:
    """A row for each load of each case, with the medians of its searches."""
    table = new_table("the search in the middle of all at this load; SLO: searches that met it")
    for column in ("service", "machine"):
        table.add_column(column, no_wrap=True)
    for column in ("load", "trials", "held", "power", "saved", "SLO"):
        table.add_column(column, justify="right", no_wrap=True)
    rows: dict[tuple[str, str, float], list[Outcome]] = {}
    for outcome in outcomes:
        rows.setdefault((outcome.service, outcome.machine, outcome.load_share), []).append(outcome)
    for (service, machine, share), here in rows.items():
        # The search in the middle stands for the others.
        typical = sorted(here, key=lambda o: o.saving)[len(here) // 2]
        setting = AUTO if typical.setting is None else " ".join(format_value(k, v) for k, v in typical.setting.items())
        table.add_row(
            service,
            machine,
            f"{share:.0%}",
            f"{statistics.median(o.trials for o in here):g}",
            setting,
            f"{typical.power_w:.1f} W",
            f"{typical.saving:.1%}",
            f"{sum(o.meets_slo for o in here)}/{len(here)}",
        )
    return table
