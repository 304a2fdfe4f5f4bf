"""How the controller of a service behaves, by what the file says of it."""

from __future__ import annotations

from typing import Final

from bayop.control.guard import Guard
from bayop.control.policy import Policy
from bayop.daemon.file import ServiceFile
from bayop.space import Space

STEADY: Final = 3.0
"""One window in 700 lies so many standard deviations above the mean: two minutes of a day."""


def policy_of(file: ServiceFile, space: Space) -> Policy:
    """The policy of a service, whose trials are as long as [D]'s.

    Args:
        file: What the file says of it.
        space: What is searched.
    """
    return Policy(
        space=space,
        slo=file.slo,
        objective=file.objective,
        trigger=file.trigger,
        guard=Guard() if file.objective.constrained else None,
        watch_s=file.watch_s,
        phase_s=file.phase_s,
        max_trials=file.max_trials,
        headroom=file.live.headroom,
        server_class=file.server_class,
        small_steps=True,
        default_first=True,
        polish=file.polish,
        follow=file.polish > 0,
        steady=STEADY,
    )
