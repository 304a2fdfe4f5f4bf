"""`bayop init`: a first `agent.toml` and `live.toml` for a machine, or its first service, from what is found."""

from __future__ import annotations

import argparse
import socket
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Final, get_args

from bayop import _core
from bayop.cli import doctor
from bayop.cli.flags import arguments
from bayop.cli.flags.running import FILE
from bayop.cli.terminal.new_files import CONFIGURATION, create
from bayop.cli.terminal.output import console, literal, print_json
from bayop.errors import InputError, unwritable
from bayop.machine.first_files import Inventory, Nic, agent_toml, live_toml
from bayop.machine.first_service import FirstMode
from bayop.machine.verdict import METER
from bayop.slo import Slo

EXAMPLE: Final = """\
  bayop init
  bayop init --out web1 --json
  bayop init --root tests/machines/intel-acpi-cpufreq.tree --out papers-server
  bayop init --start
  bayop init --start --mode advise
  bayop init --start --slo 'p99<1ms' --latency 'probe:http://127.0.0.1:8080/'
"""

_SAID: Final[Mapping[FirstMode, str]] = {
    "observe": "Observed: {service}. What is seen: bayop status --file {file}; bayop history {file} --of window",
    "advise": "Advised: {service}. What is said: bayop history {file} --of event; what is missing: bayop run {file} "
    "--check",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument(
        "--out",
        type=arguments.reader(arguments.path, "--out"),
        default=Path(),
        metavar="DIR",
        help="where agent.toml and live.toml go; files that are there are never overwritten (default: this folder)",
    )
    parser.add_argument(
        "--start",
        action="store_true",
        help=f"instead, with both packages installed: add the service that listens here to {FILE}, and "
        "start the agent and bayop run now and at every boot (needs root)",
    )
    parser.add_argument(
        "--mode",
        choices=get_args(FirstMode),
        help="with --start: observe it, or also say what a search would find and save (default: observe); neither "
        "writes anything to the machine",
    )
    parser.add_argument(
        "--latency", metavar="SOURCE", help="with --start: where its latency comes from (default: a probe)"
    )
    parser.add_argument(
        "--slo",
        type=arguments.reader(Slo.single, "--slo"),
        metavar="SLO",
        help="with --start: its latency objective (default: p99<500us)",
    )
    doctor.add_root(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Looks at the machine and writes both files, or neither; or starts to observe or advise it.

    Raises:
        InputError: flags that exclude each other.
    """
    if args.start:
        return _start(args)
    for flag, value in (("--mode", args.mode), ("--latency", args.latency), ("--slo", args.slo)):
        if value is not None:
            raise InputError(wrong=f"{flag} is for a service that is started", place=flag, hint="add --start")
    with doctor.recording(args.root) as root:
        inventory = _look(root)
    files = {args.out / "agent.toml": agent_toml(inventory), args.out / "live.toml": live_toml(inventory)}
    try:
        args.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(args.out, error, place="--out") from error
    create(files, mode=CONFIGURATION, hint="--out DIR for another folder")
    _tell(args, inventory, list(files))
    return 0


def _start(args: argparse.Namespace) -> int:
    from bayop.cli.init.start import start

    if args.root is not None:
        raise InputError(wrong="a recorded machine can't be started", place="--start", hint="leave --root out")
    inventory = _look(None)
    mode: FirstMode = args.mode or "observe"
    service, written = start(inventory, args.latency, args.slo or Slo.parse(arguments.DEFAULT_SLO), mode)
    _tell(args, inventory, written)
    if not args.json:
        console().print(literal(_SAID[mode].format(service=service, file=FILE)))
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
