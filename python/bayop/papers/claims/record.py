"""Findings as plain data: what is committed beside the page."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

import msgspec

from bayop.papers.claims.claim import Claim, Finding, LibraryOsFinding, Numbers, Verdict


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


def _rounded(numbers: Numbers) -> dict[str, float]:
    return {name: float(f"{value:.6g}") for name, value in numbers.items()}
