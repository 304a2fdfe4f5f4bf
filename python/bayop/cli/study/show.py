"""`bayop study show`: what a study holds."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bayop.cli.flags import arguments
from bayop.cli.terminal.output import console, literal, new_table, print_json
from bayop.space import format_value
from bayop.units import round_significant

if TYPE_CHECKING:
    from rich.table import Table

    from bayop.study.summary import Campaign, Spread

EXAMPLE: Final = """\
  bayop study show sweep.parquet
  bayop study show example:memcached --json
"""

_LOAD_UNITS: Final = {"qps_offered": "requests/s", "message_bytes": "B"}
_MOST_LOADS: Final = 6
"""How many loads are listed where there are more."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument(
        "study",
        type=arguments.reader(arguments.study_file, "the study"),
        metavar="FILE",
        help="a study in any format that export reads",
    )
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Reads the study and prints what it holds."""
    from bayop.study import open_study, summary

    frame = open_study(args.study)
    campaigns, spreads = summary.campaigns(frame), summary.spreads(frame)
    if args.json:
        for campaign in campaigns:
            print_json(_campaign_event(campaign))
        for spread in spreads:
            print_json(_spread_event(spread))
        return 0
    screen = console()
    for campaign in campaigns:
        _print_campaign(campaign)
    screen.print(_spread_table(spreads))
    return 0


def _print_campaign(campaign: Campaign) -> None:
    who = dict(campaign.who)
    screen = console()
    screen.print(literal(str(who.pop("study"))), style="bold")
    table = new_table()
    table.show_header = False
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    rows = [(name, value) for name, value in who.items() if value is not None]
    rows += [(name, _list(loads, _LOAD_UNITS[name])) for name, loads in campaign.loads.items()]
    rows += [(knob_id, _range(knob_id, values)) for knob_id, values in campaign.knobs.items()]
    low, high = campaign.repeats
    repeats = f"{low}" if low == high else f"{low} to {high}"
    rows.append(("trials", f"{campaign.trials}, {campaign.default_trials} of the default"))
    rows.append(("settings", f"{campaign.settings} beside the default; trials of each under a load: {repeats}"))
    rows += [("not trusted", f"{count} trials: {reason}") for reason, count in campaign.doubts.items()]
    for name, value in rows:
        table.add_row(literal(name), literal(value))
    screen.print(table)


def _list(loads: Sequence[float], unit: str) -> str:
    if len(loads) > _MOST_LOADS:
        return f"{loads[0]:,.10g} to {loads[-1]:,.10g} {unit}, {len(loads)} of them"
    return ", ".join(f"{load:,.10g}" for load in loads) + f" {unit}"


def _range(knob_id: str, values: Sequence[float | str]) -> str:
    texts = [format_value(knob_id.partition("@")[0], value) for value in values]
    return ", ".join(texts) if isinstance(values[0], str) else " to ".join(texts)


def _spread_table(spreads: Sequence[Spread]) -> Table:
    table = new_table("trials that are trusted", drop=["trials"])
    table.add_column("measured", no_wrap=True)
    for name in ("trials", "least", "median", "greatest"):
        table.add_column(name, justify="right", no_wrap=True)
    for spread in spreads:
        numbers = [_number(x) for x in (spread.low, spread.median, spread.high)]
        table.add_row(spread.quantity, str(spread.trials), *numbers)
    return table


def _number(value: float) -> str:
    """Five digits; whole thousands as people write them."""
    if abs(value) < 1e4:
        return f"{value:.5g}"
    return f"{value:,.0f}" if abs(value) < 1e8 else f"{value:.3e}"


def _campaign_event(campaign: Campaign) -> dict[str, object]:
    low, high = campaign.repeats
    return {
        "event": "campaign",
        **campaign.who,
        "trials": campaign.trials,
        **campaign.loads,
        "settings": campaign.settings,
        "default_trials": campaign.default_trials,
        "repeats": {"least": low, "most": high},
        "knobs": dict(campaign.knobs),
        "not_trusted": dict(campaign.doubts),
    }


def _spread_event(spread: Spread) -> dict[str, object]:
    low, median, high = map(round_significant, (spread.low, spread.median, spread.high))
    return {
        "event": "quantity",
        "quantity": spread.quantity,
        "trials": spread.trials,
        "least": low,
        "median": median,
        "greatest": high,
    }
