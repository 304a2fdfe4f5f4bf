"""`bayop completion`: a script by which a shell completes verbs, flags, choices and file names."""

from __future__ import annotations

import argparse
import sys
from typing import Final

EXAMPLE: Final = """\
  bayop completion bash > ~/.local/share/bash-completion/completions/bayop
  bayop completion zsh > ~/.zfunc/_bayop                      # with ~/.zfunc in fpath
  bayop completion fish > ~/.config/fish/completions/bayop.fish
"""

SHELLS: Final = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=f"one of {', '.join(SHELLS)}")


def run(args: argparse.Namespace) -> int:
    """Prints the script."""
    sys.stdout.write(script(args.shell))
    return 0


def script(shell: str) -> str:
    """The script of a shell. It is static: pressing Tab starts no Python."""
    import shtab

    from bayop.cli.commands import all_commands

    program, *_ = commands = all_commands()
    for command in commands:
        for action in (*command.flags(), *command.operands()):
            if action.choices is None and str(action.metavar or "").rpartition("|")[2].startswith(("FILE", "DIR")):
                vars(action)["complete"] = shtab.FILE  # where shtab looks for it
    return str(shtab.complete(program.parser, shell))
