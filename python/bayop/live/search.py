"""From what a `live.toml` says to a target that can be searched."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from bayop.live.agent.client import AgentClient
from bayop.live.file import LiveFile
from bayop.live.patience import Patience
from bayop.live.precision import Precision
from bayop.live.service import Service
from bayop.live.space import agent_space
from bayop.live.target import AgentTarget
from bayop.live.trial_guard import TrialGuard
from bayop.live.window import window_quantities
from bayop.load.steady import SteadyLoad
from bayop.relative_slo import RelativeSlo, draft_of, slo_against
from bayop.slo import Slo
from bayop.space import Space

_BEFORE_S: Final = 0.5
"""How long the machine is watched before its load begins."""


def client_of(live: LiveFile) -> AgentClient:
    """The agent that a file names.

    Raises:
        InputError: its address can't be read, or its credentials are unusable.
    """
    return AgentClient.at(live.agent, live.credentials)


def space_of(live: LiveFile, client: AgentClient, *, writes: bool = True) -> Space:
    """What a file lets be searched.

    Args:
        live: The file.
        client: Its agent.
        writes: Whether settings are to be written, so that the agent must allow its knobs.

    Raises:
        BayopError: the machine or its agent does not have it; a knob that the file names has its line as the place.
    """
    return agent_space(
        client.knobs(),
        only=live.knobs,
        ranges=live.ranges,
        only_with=live.only_with,
        place=lambda knob_id: live.toml.place("knobs", knob_id),
        writes=writes,
    )


@contextmanager
def open_target(
    live: LiveFile, slo: Slo | RelativeSlo, *, holder: str, service: Service | None = None
) -> Iterator[AgentTarget]:
    """The live machine under its load; both end with the block, and the machine's own settings are back.

    Args:
        live: What the file says.
        slo: The latency objective, which the guard and the confidence interval are about.
        holder: Who we are, as the agent names us to others.
        service: The service, where somebody counts what it takes; None where nobody does.

    Raises:
        BayopError: the agent, the load or the source of latency can't do what a search needs.
    """
    draft = draft_of(slo)
    latency = live.source(draft)
    client = client_of(live)
    space = space_of(live, client)
    with ExitStack() as stack:
        busy_before = None if live.load is None else utilization(client)
        if live.load is not None:
            load = stack.enter_context(SteadyLoad(live.load.plan, through=live.load.through, store=live.load.store))
            latency = latency or load
        if latency is None:
            raise TypeError("a file without a load names a source of latency: that was checked when it was read")
        target = AgentTarget(
            client,
            space,
            latency,
            holder=holder,
            qps=live.qps,
            window_s=live.window_s,
            settle_s=live.settle_s,
            precision=Precision(draft.quantity, live.interval, live.most_windows),
            guard=lambda default: TrialGuard(slo_against(slo, default), live.latency_factor, live.load_band),
            busy_before=busy_before,
            patience=Patience(draft.quantile, live.patience_s),
            service=service,
            place=live.place,
        )
        yield stack.enter_context(target)


def utilization(client: AgentClient) -> float | None:
    """How busy the machine is in this moment (0-1): before its load begins, with other work than the service's."""
    before = client.sensors()
    time.sleep(_BEFORE_S)
    return window_quantities(before, client.sensors()).get("utilization")
