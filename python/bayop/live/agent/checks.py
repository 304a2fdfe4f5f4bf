"""What must be true of an agent and of what it answers before a search goes on."""

from __future__ import annotations

from collections.abc import Collection

from bayop.errors import DriftError, UnsupportedError
from bayop.live.agent.client import AgentClient
from bayop.live.agent.messages import Released


def check_held(client: AgentClient, knob_ids: Collection[str]) -> None:
    """Refuses a window in which somebody else wrote one of our knobs.

    Raises:
        DriftError: the agent has stood down on one, or could not restore it.
    """
    for held in client.status().held:
        if held.state != "held" and held.knob.partition("@")[0] in knob_ids:
            raise DriftError(
                wrong=f"somebody else changed {held.knob} during the search",
                value=held.knob,
                place=held.reason,
                hint="find who else writes it (bayop doctor names known rivals), stop that, and search again",
            )


def check_applies(client: AgentClient) -> None:
    """Refuses an agent that only looks.

    Raises:
        UnsupportedError: its mode is not `apply`.
    """
    mode = client.status().mode
    if mode != "apply":
        raise UnsupportedError(
            "the agent must be in mode apply",
            wrong=f"the agent is in mode {mode}",
            value=f"mode {mode}",
            place=str(client.address),
            hint='set mode = "apply" in /etc/bayop/agent.toml on the server and restart bayop-agent; a dry run needs '
            "no such mode",
        )


def check_restored(restored: Released) -> None:
    """Refuses to call a machine restored that is not.

    Raises:
        DriftError: the kernel did not take an original value back.
    """
    if restored.latched:
        raise DriftError(
            wrong="not every knob has its original value back: "
            + "; ".join(f"{latched.knob}: {latched.reason}" for latched in restored.latched),
            hint="bayop restore tries again; on the server, bayop-agent restore --print shows the commands",
        )
