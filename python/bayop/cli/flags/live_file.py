"""`bayop tune --target FILE.toml`: a live machine of which a file says everything."""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bayop.cli.flags import agent as agent_flags
from bayop.cli.flags import arguments, live_agent
from bayop.errors import InputError

if TYPE_CHECKING:
    from bayop.live.file import LiveFile
    from bayop.live.target import AgentTarget
    from bayop.relative_slo import RelativeSlo
    from bayop.slo import Slo

SUFFIX: Final = ".toml"
"""What such a target ends with in `--target`."""

# Flags of other targets whose meaning has a place in the file.
_IN_FILE: Final = {"load": "qps", "only": "[knobs]", "range": "[knobs]"}


def open_target(args: argparse.Namespace, slo: Slo | RelativeSlo) -> AbstractContextManager[AgentTarget]:
    """The live machine under its load, measured once as it is.

    Raises:
        BayopError: the file is wrong, or what it names can't do what a search needs.
    """
    from bayop.live.search import open_target as open_live

    return open_live(_file(args), slo, holder=agent_flags.holder(args.verb))


def show_dry_run(args: argparse.Namespace) -> int:
    """Prints what the search's first trial would change, and what it would choose from. Starts no load."""
    from bayop.live.search import client_of, space_of
    from bayop.relative_slo import draft_of

    live = _file(args)
    live.source(draft_of(arguments.slos_of(args)))
    client = client_of(live)
    return live_agent.preview(client, space_of(live, client).without_auto(), json=args.json)


def headroom_of(args: argparse.Namespace) -> float:
    """The headroom that the file asks for."""
    return _file(args).headroom


def _file(args: argparse.Namespace) -> LiveFile:
    from bayop.live.file import LiveFile

    for flag, place in _IN_FILE.items():
        if getattr(args, flag) is not None:
            raise InputError(
                wrong=f"--{flag} and a file were both given",
                place=f"--{flag}",
                hint=f"say it in {args.target}: {place}",
            )
    return LiveFile.read(Path(args.target))
