"""All claims, in the order in which they are shown."""

from __future__ import annotations

from typing import Final

from bayop.papers.claims import closed_loop, days, generality, idle_governor, interrupt_spacing, old_carbon, open_loop
from bayop.papers.claims.claim import Claim

CLAIMS: Final[tuple[Claim, ...]] = (
    *open_loop.CLAIMS,
    *closed_loop.CLAIMS,
    *interrupt_spacing.CLAIMS,
    *days.CLAIMS,
    *generality.CLAIMS,
    *old_carbon.CLAIMS,
    *idle_governor.CLAIMS,
)
"""Every claim; ids are unique."""
