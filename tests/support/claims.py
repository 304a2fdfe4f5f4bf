"""The committed record of findings, and where that of a new run parts from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from bayop.papers.claims.record import Row

TOLERANCE: Final = 0.02
"""How far a number may move, as a share of it, before its page no longer follows from the code: processors round
differently, and a search may then take another path."""


def from_lines(text: str) -> list[Row]:
    """The rows that `to_lines` has written."""
    return msgspec.json.Decoder(Row).decode_lines(text)


def differences(record: Sequence[Row], run: Sequence[Row]) -> list[str]:
    """Where two records part: a claim that is missing, another verdict, or a number that has moved.

    Words may be written anew without a difference; numbers, names of numbers and verdicts may not.
    """
    before, after = ({row.id: row for row in rows} for rows in (record, run))
    lines = [f"{id_}: only in {'the record' if id_ in before else 'the run'}" for id_ in sorted(before.keys() ^ after)]
    for id_ in (row.id for row in run if row.id in before):
        old, new = before[id_], after[id_]
        if old.verdict != new.verdict:
            lines.append(f"{id_}: the verdict was {old.verdict.value} and is {new.verdict.value}")
        for kind in ("data", "twin"):
            lines += [f"{id_}: {kind} {what}" for what in _moved(getattr(old, kind), getattr(new, kind))]
        if old.library_os != new.library_os:
            lines.append(f"{id_}: what the library OS gives is another")
    return lines


def _moved(old: Mapping[str, float], new: Mapping[str, float]) -> list[str]:
    lines = [f"{name} is only in one of both" for name in sorted(old.keys() ^ new.keys())]
    return lines + [
        f"{name} was {old[name]:g} and is {new[name]:g}"
        for name in old
        if name in new and abs(new[name] - old[name]) > TOLERANCE * max(abs(old[name]), TOLERANCE)
    ]
