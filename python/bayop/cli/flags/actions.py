"""Verbs with actions: `bayop study show`, `bayop twin run`. Each action is a module like a verb's."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import TypeVar

from bayop.errors import BayopError, Parameter

P = TypeVar("P", bound=argparse.ArgumentParser)


def add_actions(parser: argparse.ArgumentParser, verb: str, actions: Mapping[str, str]) -> None:
    """Declares the actions of a verb and their flags; `run_action` does what was asked.

    Args:
        parser: The verb's.
        verb: Its name; the module of an action is `bayop.cli.VERB.ACTION`, with `_` after `import`, a
            keyword of Python, and `run`, the function of every verb.
        actions: What each action does, in a line.
    """
    parsers = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for action, summary in actions.items():
        name = f"{action}_" if action in ("import", "run") else action
        module = import_module(f"bayop.cli.{verb}.{name}")
        add_command(parsers, action, summary, module).set_defaults(run_action=module.run)


def add_command(parsers: argparse._SubParsersAction[P], name: str, summary: str, module: ModuleType | None) -> P:
    """The parser of a verb or an action, with its flags and examples where its module is loaded."""
    parser = parsers.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=f"examples:\n{module.EXAMPLE}" if module else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    if module:
        module.add_arguments(parser)
        parser.set_defaults(flags=_flags(parser))
    return parser


def with_flag(error: BayopError, args: argparse.Namespace) -> BayopError:
    """The error, where its place is a parameter, with the flag that gives it."""
    flag = args.flags.get(error.place) if isinstance(error.place, Parameter) else None
    return error if flag is None else error.but(place=flag)


def _flags(parser: argparse.ArgumentParser) -> dict[str, str]:
    """The flags by the parameters that they give: a flag's `dest` is what the library calls it."""
    actions = reversed(parser._actions)  # noqa: SLF001 -- no other way; of several flags of a parameter the first counts
    long = ((action.dest, [name for name in action.option_strings if name.startswith("--")]) for action in actions)
    return {dest: names[0] for dest, names in long if names}


def run_action(args: argparse.Namespace) -> int:
    """Does what was asked."""
    return int(args.run_action(args))
