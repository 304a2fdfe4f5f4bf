"""Asking people before something is done."""

from __future__ import annotations

import sys

from bayop.errors import InputError


def is_agreed(question: str, *, nobody: InputError) -> bool:
    """Whether somebody at the terminal says yes.

    Args:
        question: What they are asked; "[y/N]" is added.
        nobody: What to raise where there is no terminal.
    """
    if not sys.stdin.isatty():
        raise nobody
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
