"""`bayop init`: a first `agent.toml` and `live.toml` for a machine, from what is found on it."""

from __future__ import annotations

import argparse
import socket
from collections import defaultdict
from pathlib import Path
from typing import Final

from bayop import _core
from bayop.cli import doctor
from bayop.cli.flags import arguments
from bayop.cli.terminal.new_files import create
from bayop.cli.terminal.output import console, literal, print_json
from bayop.errors import unwritable
from bayop.machine.first_files import Inventory, Nic, agent_toml, live_toml
from bayop.machine.verdict import METER

EXAMPLE: Final = """\
  bayop init
  bayop init --out web1 --json
  bayop init --root tests/machines/intel-acpi-cpufreq.tree --out papers-server
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument(
        "--out",
        type=arguments.reader(arguments.path, "--out"),
        default=Path(),
        metavar="DIR",
        help="where agent.toml and live.toml go; files that are there are never overwritten (default: this folder)",
    )
    doctor.add_root(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Looks at the machine and writes both files, or neither."""
    with doctor.recording(args.root) as root:
        inventory = _look(root)
    files = {args.out / "agent.toml": agent_toml(inventory), args.out / "live.toml": live_toml(inventory)}
    try:
        args.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(args.out, error, place="--out") from error
    create(files, hint="--out DIR for another folder")
    _tell(args, inventory, list(files))
    return 0


def _look(root: Path | None) -> Inventory:
    knobs: defaultdict[str, dict[str, tuple[float, float, float] | None]] = defaultdict(dict)
    for knob in _core.find_knobs(root=root):
        knobs[knob["id"]][knob["at"]] = knob["steps"]
    return Inventory(
        host=socket.gethostname() if root is None else "HOST",
        nics=[Nic(**nic) for nic in _core.find_nics(root=root)],
        services=_core.find_services(root=root),
        knobs=knobs,
        findings=doctor.look(root),
    )


def _tell(args: argparse.Namespace, inventory: Inventory, paths: list[Path]) -> None:
    nic = inventory.nic()
    meter = inventory.finding(METER)
    if args.json:
        print_json(
            {
                "event": "written",
                "files": [str(path) for path in paths],
                "nic": None if nic is None else nic.name,
                "meter": meter.found if meter is not None and meter.status == "ok" else None,
                "services": [{"name": name, "port": port} for name, port in inventory.services],
            }
        )
        return
    screen = console()
    services = ", ".join(f"{name} on port {port}" for name, port in inventory.services)
    screen.print(literal(f"NIC:      {'none with a knob' if nic is None else f'{nic.name} ({nic.driver})'}"))
    screen.print(literal(f"Meter:    {meter.found if meter and meter.status == 'ok' else 'none; estimated'}"))
    screen.print(literal(f"Service:  {services or 'none that is known'}"))
    screen.print(
        literal(f"Written:  {' and '.join(map(str, paths))}. Read them; their comments say what was chosen and why.")
    )
