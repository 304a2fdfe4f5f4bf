"""A setting as a script for POSIX shells, ethtool and files below /sys, which notes what it finds and puts it back."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

from bayop.export.spelled import Spelled


def script(spelled: Spelled) -> str:
    """The script; `script.sh` beside this file is all of it but the setting."""
    frame = files("bayop.export").joinpath("script.sh").read_text(encoding="utf-8")
    settings = "\n".join(f"    {line}" for line in _lines(spelled))
    return frame.replace("SETTINGS", settings, 1).replace("SETTING", spelled.summary, 1)


def _lines(spelled: Spelled) -> Iterator[str]:
    for each in spelled.coalescing:
        yield f"coalesce {each.device} {each.parameter} {each.value}"
    for file in spelled.files:
        if any(sign in file.pattern for sign in "*["):
            yield f"for file in {file.pattern}; do"
            yield f"    put \"$file\" '{file.text}'"
            yield "done"
        else:
            yield f"put {file.pattern} '{file.text}'"
