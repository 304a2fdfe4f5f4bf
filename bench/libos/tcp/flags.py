"""What the programs on Linux's side have in common as commands: whom they are to reach."""

from __future__ import annotations

import argparse

from bench.libos.tcp.frames import Address


def flags_of(module: str, says: str | None) -> argparse.ArgumentParser:
    """The flags of a program, none so far.

    Args:
        module: What runs, such as `bench.libos.tcp.clients`.
        says: Its docstring.
    """
    return argparse.ArgumentParser(
        prog=f"python -m {module}", description=says, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def parse_address(text: str) -> Address:
    """Reads HOST:PORT.

    Raises:
        ValueError: It is something else.
    """
    host, port = text.split(":")
    return host, int(port)
