"""`bayop doctor --bundle FILE`: a recording of a machine, to attach to a report or to put into tests/machines."""

from __future__ import annotations

import argparse
import socket
from pathlib import Path

from bayop import _core
from bayop.cli.flags import arguments
from bayop.cli.terminal.new_files import create
from bayop.cli.terminal.output import console, literal, print_json
from bayop.errors import InputError
from bayop.machine.recording import anonymous


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flag."""
    parser.add_argument(
        "--bundle",
        type=arguments.reader(arguments.path, "--bundle"),
        metavar="FILE",
        help="record what BayOp reads of the machine in a new file, without addresses, serial numbers and names",
    )


def run(args: argparse.Namespace, root: Path | None) -> int:
    """Writes the recording of this machine, or of the recorded one in `root`."""
    if args.agent is not None:
        raise InputError(
            "a bundle must be made on the machine itself", wrong="both --agent and --bundle", place="--bundle"
        )
    text = anonymous(_core.record_machine(root=root), host=socket.gethostname())
    try:
        create({args.bundle: text})
    except InputError as error:
        raise error.at("--bundle") from error
    count = text.count("\n=== ")
    if args.json:
        print_json({"event": "bundle", "file": str(args.bundle), "files": count})
    else:
        machine = "this machine" if args.root is None else args.root
        remark = f"{args.bundle} has {count} files of {machine}. Look through it before you give it away: it is text."
        console().print(literal(remark))
        if unread := text.count(" !read\n"):
            more = "" if args.root else "; root may see more: sudo bayop doctor --bundle FILE"
            console().print(f"{unread} of them could not be read{more}")
    return 0
