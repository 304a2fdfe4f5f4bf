"""`bayop explain`: why a service of `bayop run` holds what it holds."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from bayop.cli.flags import arguments, running
from bayop.cli.terminal.output import console, literal, new_table, print_json
from bayop.errors import InputError, no_service
from bayop.units import round_significant

if TYPE_CHECKING:
    from bayop.daemon.explained import Explained
    from bayop.daemon.file import DaemonFile, ServiceFile

EXAMPLE: Final = """\
  bayop explain /etc/bayop/bayop.toml cache
  bayop explain bayop.toml cache --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument(
        "file",
        type=arguments.reader(arguments.path, "FILE"),
        metavar="FILE",
        help="the bayop.toml of bayop run; its state is read, and the agent asked for its knobs",
    )
    parser.add_argument("service", metavar="SERVICE", help="the service's name, as its table is called")
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Explains it; nothing is applied."""
    from bayop.daemon.explained import explained
    from bayop.daemon.file import DaemonFile
    from bayop.live.search import client_of, space_of

    try:
        file = DaemonFile.read(args.file)
    except InputError as error:
        if args.file.suffix == ".toml":
            raise
        raise error.but(hint="name the bayop.toml itself: which agent and SLO are meant is not in its state") from error
    service, state = _service_of(file, args.service), running.remembered(file)
    space = space_of(service.live, client_of(service.live), writes=service.mode == "apply").without_auto()
    what = explained(service, state, space)
    if args.json:
        for event in _events(service, what):
            print_json(event)
    else:
        _print(service, what)
    return 0


def _service_of(file: DaemonFile, name: str) -> ServiceFile:
    for service in file.services:
        if service.name == name:
            return service
    raise no_service(name, [service.name for service in file.services], place="SERVICE")


def _events(service: ServiceFile, what: Explained) -> Iterator[dict[str, object]]:
    from bayop.cli.tune.events import of_explanation
    from bayop.space import plain_setting

    prediction = what.explanation.prediction
    yield {
        "event": "held",
        "service": service.name,
        "setting": dict(what.setting),
        "search": what.search["number"],
        "reason": what.search["reason"],
        "polished": what.polished,
        "slo": str(service.slo),
        "qps": round_significant(what.problem.qps),
        "predicted": {name: round_significant(value) for name, value in prediction.quantities.items()},
        "relative_sd": {name: round_significant(sd) for name, sd in prediction.relative_sd.items()},
        "slo_probability": round_significant(prediction.slo_probability),
        "margin": round_significant(what.margin),
    }
    yield from of_explanation(what.explanation)
    for other in what.others:
        yield {
            "event": "slo",
            "slo": str(other.slo),
            "setting": plain_setting(other.setting),
            "change_w": None if other.change_w is None else round_significant(other.change_w),
        }


def _print(service: ServiceFile, what: Explained) -> None:
    from bayop.cli.tune.summary import print_explanation

    screen, shown = console(), what.problem.space.format
    how = "polished since" if what.polished else "found by"
    found = f"{how} search {what.search['number']} ({what.search['reason']})"
    screen.print(literal(f"{service.name}: {shown(what.setting)}, {found}; now at {what.problem.qps:.0f} qps"))
    screen.print(f"Its latency is expected to stay {what.margin:.0%} below the limit.")
    print_explanation(what.explanation, what.problem, "W")
    table = new_table()
    for column in ("with the SLO", "it would hold", "power"):
        table.add_column(column, justify="right" if column == "power" else "left")
    for other in what.others:
        setting = "nothing is trusted" if other.setting is None else shown(other.setting)
        power = "" if other.change_w is None else f"{other.change_w:+.1f} W"
        table.add_row(literal(str(other.slo)), literal(setting), power)
    screen.print(table)
