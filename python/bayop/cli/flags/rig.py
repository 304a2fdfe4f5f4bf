"""What `bayop live` and `bayop day` share: the agent that their rig runs, and the record of what it has shown."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bayop.cli.flags import arguments
from bayop.cli.flags.actions import with_flag
from bayop.errors import BayopError, UnsupportedError

if TYPE_CHECKING:
    from bayop.experiments.rig.day.record import RigDay
    from bayop.experiments.rig.record import LiveRecord


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


@contextmanager
def recorded(record: LiveRecord | RigDay, args: argparse.Namespace, on_data: Callable[[Path], None]) -> Iterator[None]:
    """Writes what was measured into the report's folder, whatever ends the block; a failure is noted in it."""
    from bayop.report import DATA

    try:
        yield
    except BaseException as error:
        record.failure = with_flag(error, args).message if isinstance(error, BayopError) else type(error).__name__
        raise
    finally:
        file = args.out / DATA
        file.write_text(json.dumps(record.to_json(), allow_nan=False), encoding="utf-8")
        on_data(file)
