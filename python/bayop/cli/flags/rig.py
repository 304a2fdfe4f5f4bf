"""`--agent-program`: the agent that the rig of `bayop live` and `bayop day` runs."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from bayop.cli.flags import arguments
from bayop.errors import UnsupportedError


def add_agent_program(parser: argparse.ArgumentParser) -> None:
    """`--agent-program`."""
    parser.add_argument(
        "--agent-program",
        type=arguments.reader(arguments.path, "--agent-program"),
        default=Path("bayop-agent"),
        metavar="FILE",
        help="the agent (default: bayop-agent on the path)",
    )


def program(path: Path, *, target: str) -> Path:
    """The agent, from the path when it is a bare name; `target` is make's, which runs the verb with one.

    Raises:
        UnsupportedError: there is none.
    """
    found = shutil.which(path)
    if found is None:
        raise UnsupportedError(
            "the agent must be a program on the path, or a file that can be run",
            value=str(path),
            place="--agent-program",
            hint=f"make {target} builds and names it",
        )
    return Path(found).resolve()
