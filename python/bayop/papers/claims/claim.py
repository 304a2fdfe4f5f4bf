"""What a claim is: something that a paper says in numbers, and what raw data, twin and library OS say to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bayop.papers.claims.evidence import Evidence

Numbers = Mapping[str, float]
"""Named numbers; a name ends in its unit: `_share` (of one), `_x` (a factor), `_w`, `_us`, `_qps`."""

PAPERS: Final = MappingProxyType(
    {
        "D": "Dong et al., Taming and Controlling Performance and Energy Trade-offs Automatically in Network "
        "Applications",
        "Q": "Dong, Tuning Linux kernel policies for energy efficiency with machine learning, Red Hat Research "
        "Quarterly, May 2023",
        "Y": "Sharafzadeh et al., Yawn: A CPU Idle-state Governor for Datacenter Applications, APSys 2019",
        "C": "Dong et al., Can OS Specialization give new life to old carbon in the cloud?, SYSTOR 2024",
    }
)


class Verdict(StrEnum):
    """How a claim stands."""

    REPRODUCED = "reproduced"
    AS_RATIO = "as a ratio only"
    PARTLY = "partly"
    NOT = "not"
    NOT_TESTABLE = "not testable"


@dataclass(frozen=True, slots=True)
class LibraryOsFinding:
    """What was counted on our own library OS, in the place of the papers' EbbRT.

    Attributes:
        numbers: What was found.
        verdict: How the claim stands on it.
        source: The file of what was counted.
    """

    numbers: Numbers
    verdict: Verdict
    source: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found when a claim was examined.

    Attributes:
        verdict: How the claim stands, by the raw data where they can speak to it, else by the twin.
        data: What the raw data give; empty where they can't speak to it.
        twin: What the twin gives; empty where it can't.
        note: What is behind the verdict, in a sentence or two.
        library_os: What our own library OS gives; None where it was not measured.
    """

    verdict: Verdict
    note: str
    data: Numbers = field(default_factory=dict)
    twin: Numbers = field(default_factory=dict)
    library_os: LibraryOsFinding | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """One quantitative claim.

    Attributes:
        id: Stable name for programs: `open-loop-43`.
        paper: Key of `PAPERS`.
        place: Where it stands in the paper.
        statement: What is claimed, in our words.
        printed: The numbers as printed.
        command: What shows the numbers behind the finding; a figure of the same comes with its `--out`.
        figure: The figure's file name in that folder, without its ending; None where a table says it all.
        examine: Finds out. Deterministic: the same evidence gives the same finding.
    """

    id: str
    paper: str
    place: str
    statement: str
    printed: str
    command: str
    figure: str | None
    examine: Callable[[Evidence], Finding]
