"""`bayop history`: what `bayop run` has done: searches, windows, events, savings."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from bayop.cli.flags import arguments, running
from bayop.cli.terminal.new_files import check_out
from bayop.cli.terminal.output import console, literal, new_table, print_json
from bayop.errors import InputError, no_service, printable
from bayop.space import format_setting, format_value
from bayop.state.records import Table, columns, read, services
from bayop.units import round_significant

if TYPE_CHECKING:
    from bayop.daemon.savings.worth import Worth

EXAMPLE: Final = """\
  bayop history bayop.toml
  bayop history bayop.toml --of window --service web --last 20
  bayop history bayop.toml --of saving
  bayop history bayop.toml --of window --out windows.parquet
  bayop history /var/lib/bayop-run/bayop.db --of event --json
"""

_COLUMNS: Final[dict[Table, tuple[str, ...]]] = {
    "search": ("time", "service", "search", "why", "qps", "trials", "stopped", "held"),
    "window": ("time", "service", "phase", "setting", "for", "qps", "power", "latency", "SLO"),
    "event": ("time", "service", "event", "what"),
}
_LISTED: Final = 100
_ALL: Final = 2**62
_TIMES: Final = ("start_s", "end_s", "time_s")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument(
        "file",
        type=arguments.reader(arguments.path, "FILE"),
        metavar="FILE",
        help="the bayop.toml of bayop run, or the state that it names",
    )
    parser.add_argument(
        "--of",
        choices=(*get_args(Table), "saving"),
        default="search",
        help="what is listed (default: search, one line for each); saving by days, and in all",
    )
    parser.add_argument("--service", metavar="NAME", help="of this service alone")
    parser.add_argument(
        "--last",
        type=arguments.reader(arguments.whole_number(1, 1_000_000), "--last"),
        metavar="N",
        help=f"how many at most (default: {_LISTED}; with --out, all)",
    )
    parser.add_argument(
        "--out",
        type=arguments.reader(arguments.path, "--out"),
        metavar="FILE.parquet",
        help="write them as a table, with a column for each knob, instead of listing them",
    )
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Prints them, oldest first."""
    state = _state_of(args.file)
    last = args.last or (_ALL if args.out else _LISTED)
    if args.service is not None and args.service not in (names := {*services(state), *_worths(args.file)}):
        raise no_service(args.service, names, place="--service")
    if args.of == "saving":
        if args.out is not None:
            raise InputError("a table must be of searches, windows or events", value="saving", place="--of")
        from bayop.cli.history import savings

        savings.show(state, _worths(args.file), service=args.service, last=last, json=args.json)
        return 0
    rows = read(state, args.of, service=args.service, last=last, on_damage=_say_damaged)
    if args.out is not None:
        return _write(rows, args)
    if args.json:
        for row in rows:
            print_json({"event": args.of, **_plain(row, args.of)})
        return 0
    if not rows:
        console().print(f"There is no {args.of} yet.")
        return 0
    table = new_table()
    for column in _COLUMNS[args.of]:
        right = column in ("search", "qps", "trials", "for", "power", "latency")
        table.add_column(column, justify="right" if right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(literal(cell) for cell in _CELLS[args.of](row)))
    console().print(table)
    return 0


def _say_damaged(error: InputError) -> None:
    sys.stderr.write(f"left out: {printable(error.message)}\nhint: {error.hint}\n")


def _write(rows: Sequence[Mapping[str, Any]], args: argparse.Namespace) -> int:
    """Writes rows as a table.

    Raises:
        InputError: the file's name does not end in .parquet, it is there already, or it can't be written.
    """
    import polars as pl

    from bayop.files import write_whole
    from bayop.state.frame import frame_of

    if args.out.suffix != ".parquet":
        raise InputError("a table's name must end in .parquet", value=str(args.out), place="--out")
    check_out(args.out)
    frame = frame_of(rows, columns(args.of))
    write_whole(args.out, frame.write_parquet, failures=(pl.exceptions.PolarsError,))
    if args.json:
        print_json({"event": "table", "of": args.of, "rows": len(rows), "file": str(args.out)})
    else:
        console().print(literal(f"{len(rows)} rows are written to {args.out}."))
    return 0


def _state_of(path: Path) -> Path:
    if path.suffix != ".toml":
        return path
    from bayop.daemon.file import DaemonFile

    return running.remembered(DaemonFile.read(path))


def _worths(path: Path) -> dict[str, Worth]:
    """What a kWh is worth, where a file says it."""
    if path.suffix != ".toml":
        return {}
    from bayop.daemon.file import DaemonFile

    return {service.name: service.savings.worth for service in DaemonFile.read(path).services}


def _plain(row: Mapping[str, Any], table: Table) -> dict[str, object]:
    values = {name: round_significant(v) if _is_measured(name, v) else v for name, v in row.items()}
    if table == "event":
        values["what"] = values.pop("event")
    return values


def _is_measured(name: str, value: object) -> bool:
    return isinstance(value, float) and name not in _TIMES


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def _setting(setting: Mapping[str, Any] | None) -> str:
    return "default" if setting is None else format_setting(setting)


def _number(value: float | None, unit: str, digits: int = 0) -> str:
    return "" if value is None else f"{value:.{digits}f} {unit}".strip()


def _search(row: Mapping[str, Any]) -> tuple[str, ...]:
    numbers = str(row["number"]), row["reason"], _number(row["qps"], ""), str(row["trials"])
    return _time(row["end_s"]), row["service"], *numbers, row["stopped"], _setting(row["setting"])


def _window(row: Mapping[str, Any]) -> tuple[str, ...]:
    verdict = f"cut short: {row['cut_short']}" if row["cut_short"] else "met" if row["meets_slo"] else "missed"
    return (
        _time(row["start_s"]),
        row["service"],
        row["phase"],
        "" if row["phase"] == "other" else _setting(row["setting"]),
        _number(row["duration_s"], "s"),
        _number(row["qps"], ""),
        _number(row["power_w"], "W", 1),
        _number(row["latency_us"], "us"),
        verdict,
    )


def _event(row: Mapping[str, Any]) -> tuple[str, ...]:
    fields = ((name, value) for name, value in row["fields"].items() if value not in (None, [], {}))
    what = "; ".join(f"{name} {_plainly(name, value)}" for name, value in fields)
    return _time(row["time_s"]), row["service"] or "", row["event"], what


def _plainly(name: str, value: object) -> str:
    """A field of an event, for people; of those that are a setting's, a name has a dot in it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return format_value(name, value) if "." in name else f"{value:.6g}"
    if isinstance(value, list):
        return ", ".join(_plainly(name, each) for each in value)
    if isinstance(value, dict):
        return ", ".join(f"{inner} {_plainly(inner, each)}" for inner, each in value.items())
    return "unknown" if value is None else str(value)


_CELLS: Final = {"search": _search, "window": _window, "event": _event}
