"""The claim about other services on other machines ([D] section 4.3), on the twin; it has no published raw data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayop.papers.claims.claim import Claim, Finding
from bayop.papers.claims.judge import judge_range

if TYPE_CHECKING:
    from bayop.papers.claims.evidence import Evidence


def _tailbench(evidence: Evidence) -> Finding:
    from bayop.experiments.generality.record import LOAD_SHARES, PUBLISHED

    low, high = LOAD_SHARES
    twin: dict[str, float] = {}
    for name, share in (("40", low), ("80", high)):
        savings = [outcome.saving for outcome in evidence.tailbench if outcome.load_share == share]
        twin |= {f"at_{name}_least_share": min(savings), f"at_{name}_greatest_share": max(savings)}
    return Finding(
        judge_range(*PUBLISHED, twin["at_40_least_share"], twin["at_40_greatest_share"]),
        "Services and machines like the paper's, not measurements of them. At 40 % of peak the ranges agree but for "
        "their ends; at 80 % the default has less left to gain.",
        {},
        twin,
    )


CLAIMS: Final = (
    Claim(
        id="tailbench",
        paper="D",
        place="section 4.3",
        statement="img-dnn, sphinx and xapian on four machines at 40 and 80 % of their peak: energy of BayOp against "
        "Linux left alone",
        printed="5 to 36 % less",
        command="bayop twin generality --out build/generality",
        figure="generality",
        examine=_tailbench,
    ),
)
