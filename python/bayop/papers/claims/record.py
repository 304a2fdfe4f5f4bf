"""Findings as plain data: what is committed beside the page, and what a new run is held against."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from bayop.papers.claims.claim import Claim, Finding, LibraryOsFinding, Numbers, Verdict

TOLERANCE: Final = 0.02
"""How far a number may move, as a share of it, before its page no longer follows from the code: processors round
differently, and a search may then take another path."""


@dataclass(frozen=True, slots=True)
class Row:
    """A claim with its finding; fields as in `Claim` and `Finding`."""

    id: str
    paper: str
    place: str
    statement: str
    printed: str
    data: Numbers
    twin: Numbers
    library_os: LibraryOsFinding | None
    verdict: Verdict
    note: str
    command: str
    figure: str | None

    @classmethod
    def of(cls, claim: Claim, finding: Finding) -> Row:
        """The row of a claim that was examined."""
        counted = finding.library_os
        return cls(
            id=claim.id,
            paper=claim.paper,
            place=claim.place,
            statement=claim.statement,
            printed=claim.printed,
            data=_rounded(finding.data),
            twin=_rounded(finding.twin),
            library_os=counted and replace(counted, numbers=_rounded(counted.numbers)),
            verdict=finding.verdict,
            note=finding.note,
            command=claim.command,
            figure=claim.figure,
        )

    def to_json(self) -> dict[str, object]:
        """As plain data, in the order of the fields."""
        return {name: msgspec.to_builtins(getattr(self, name)) for name in self.__slots__}


def to_lines(rows: Iterable[Row]) -> str:
    """JSON, a row a line."""
    return "".join(json.dumps(row.to_json(), allow_nan=False) + "\n" for row in rows)


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


def _rounded(numbers: Numbers) -> dict[str, float]:
    return {name: float(f"{value:.4g}") for name, value in numbers.items()}
