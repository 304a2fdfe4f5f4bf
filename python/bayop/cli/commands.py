"""The parsers of all verbs and actions, for what is made of them: help, completion, man pages, defaults."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from bayop.cli.parser import build_parser


@dataclass(frozen=True, slots=True)
class Command:
    """A verb, or one of its actions.

    Attributes:
        words: What is typed after `bayop`: `("twin", "run")`; empty for the program itself.
        summary: What it does, in a line.
        parser: Its parser.
    """

    words: tuple[str, ...]
    summary: str
    parser: argparse.ArgumentParser

    def flags(self) -> list[argparse.Action]:
        """What starts with a dash."""
        return [action for action in self.parser._actions if action.option_strings]  # noqa: SLF001 -- no other way

    def operands(self) -> list[argparse.Action]:
        """What does not, but for verbs and actions."""
        return [a for a in self.parser._actions if not (a.option_strings or a.nargs == argparse.PARSER)]  # noqa: SLF001

    def below(self) -> list[Command]:
        """Its verbs or actions."""
        below = []
        for action in self.parser._actions:  # noqa: SLF001
            if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
                helps = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001
                below += [Command((*self.words, w), helps.get(w, ""), p) for w, p in action.choices.items()]
        return below


def commands(parser: argparse.ArgumentParser) -> Iterator[Command]:
    """The program itself, then every verb and action that its parser has loaded."""
    waiting = [Command((), parser.description or "", parser)]
    while waiting:
        command = waiting.pop(0)
        yield command
        waiting = command.below() + waiting


def all_commands() -> list[Command]:
    """Those of every verb."""
    return list(commands(build_parser([], every_verb=True)))
